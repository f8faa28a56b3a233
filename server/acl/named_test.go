package acl

import "testing"

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		kind, access, name string
		want               Permission
		wrong              bool
	}{
		{"key", "write", "a", KeyWrite("a"), false},
		{"key", "read", "", KeyRead(""), false},
		{"key", "list", "a/", KeyList("a/"), false},
		{"key", "write-prefix", "a/", KeyWritePrefix("a/"), false},
		{"session", "write-prefix", "n1", Permission{}, true},
		{"session", "write", "n1", SessionWrite("n1"), false},
		{"lease", "read", "l", LeaseRead("l"), false},
		{"operator", "write", "ignored", OperatorWrite(), false},
		{"acl", "read", "", ACLRead(), false},
		{"session", "list", "n1", Permission{}, true},
		{"key", "deny", "a", Permission{}, true},
		{"key", "", "a", Permission{}, true},
		{"", "read", "a", Permission{}, true},
		{"keys", "read", "a", Permission{}, true},
	} {
		got, err := Named(c.kind, c.access, c.name)
		if (err != nil) != c.wrong || err == nil && got != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}
