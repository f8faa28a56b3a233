package buildinfo

import (
	"runtime/debug"
	"strings"
	"testing"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func TestRead(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit},
		{Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		name, linked, module string
		settings             []debug.BuildSetting
		version, revision    string
		modified             bool
	}{
		{"release", "v1.2.3", "(devel)", settings, "v1.2.3", commit, true},
		{"module", "", "v1.4.0", nil, "v1.4.0", "", false},
		{"working copy", "", "(devel)", settings, "devel-0123456789ab", commit, true},
		{"nothing noted", "", "", nil, "devel", "", false},
	} {
		got := read(c.linked, &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings})
		if got.Version != c.version || got.Revision != c.revision || got.Modified != c.modified {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestLine(t *testing.T) {
	i := Info{Version: "v1", Revision: commit, Modified: true, Go: "go1", Platform: "a/b"}
	if got := i.Line("kvctl"); got != "kvctl v1 revision "+commit+"+changes go1 a/b" {
		t.Error(got)
	}
	if got := (Info{Version: "v1"}).Line("kvnode"); !strings.HasPrefix(got, "kvnode v1 revision unknown") {
		t.Error(got)
	}
}
