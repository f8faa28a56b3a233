package kv

import "testing"

// A fence is a name and a token from 1 up, behind the last colon.
func TestParseFence(t *testing.T) {
	for text, want := range map[string]struct {
		name  string
		token uint64
	}{
		"kv/a:1": {"kv/a", 1}, "lease/a:b:7": {"lease/a:b", 7}, "kv/a:18446744073709551615": {"kv/a", 1<<64 - 1},
		"kv/a:0": {}, "kv/a:": {}, "kv/a": {}, "": {}, "kv/a:-1": {}, "kv/a:1 ": {}, "kv/a:18446744073709551616": {},
	} {
		name, token, err := ParseFence(text)
		if name != want.name || token != want.token || (err != nil) != (want.name == "") {
			t.Errorf("%q: %q, %d, %v", text, name, token, err)
		}
	}
}
