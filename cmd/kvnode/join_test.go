package main

import (
	"strings"
	"testing"
)

// Whoever has left --replace in the settings is told what it does, before it is done and afterwards.
func TestReplaceThatIsLeftIsTold(t *testing.T) {
	inEmptyDir(t, map[string]string{"n.toml": "replace = \"n3\"\njoin = \"127.0.0.1:9\"\npeer = \"127.0.0.1:8\"\n"})
	formed(t, "member", 1, 3, 4, 5)
	for data, want := range map[string]string{
		"empty": `"level":"warn","time":`, "member": `"level":"info","time":`,
	} {
		o := command(t, nil, nil, "--config", "n.toml", "--data", data)
		if o.code != 0 || strings.Count(o.stderr, "replace in n.toml n3: ") != 1 || !strings.Contains(o.stderr, want) ||
			!strings.Contains(o.stderr, "remove") {
			t.Errorf("%s: %+v", data, o)
		}
	}
}
