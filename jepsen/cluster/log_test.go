package cluster

import "testing"

func TestLastWords(t *testing.T) {
	for output, want := range map[string]string{
		"":                       "",
		"{\"level\":\"info\"}\n": "",
		"kvnode: no\n":           "kvnode: no",
		"kvnode: once\nkvnode: twice\n  do this:\n  kvnode a\n": "kvnode: twice do this: kvnode a",
	} {
		if got := LastWords(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}
