package compat

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// suites are the tests that hashicorp/consul/api brings along and that concern what Tenure offers.
var suites = []struct {
	pkg, run string
	min      int // of tests that pass, so that a pattern which matches nothing is noticed
	beyond   map[string]string
}{
	{
		pkg: "github.com/hashicorp/consul/api",
		run: "^TestAPI_(Client(PutGet|List_|DeleteCAS|CAS|Watch|Keys|Acquire|Txn)|KVClientTxn|Lock|Semaphore|Session|Status|AgentSelf)",
		min: 43,
		beyond: map[string]string{
			"TestAPI_ClientTxn":            "transactions on the catalog",
			"TestAPI_ClientTxnWrite":       "transactions on the catalog",
			"TestAPI_SessionNodeChecks":    "sessions that end with a health check",
			"TestAPI_SessionServiceChecks": "sessions that end with a health check",
		},
	},
	{pkg: "github.com/hashicorp/consul/api/watch", run: "^Test(KeyWatch|KeyPrefixWatch|Run|Parse)", min: 8},
}

// TestUpstream runs them as they are. They find the stand-in of ./consul on their PATH and start a node each through
// it.
func TestUpstream(t *testing.T) {
	for _, s := range suites {
		t.Run(s.pkg, func(t *testing.T) {
			args := []string{"test", "-json", "-count=1", "-parallel=6", "-timeout=2m", "-run", s.run}
			if len(s.beyond) > 0 {
				args = append(args, "-skip", "^("+strings.Join(slices.Sorted(maps.Keys(s.beyond)), "|")+")$")
			}
			cmd := exec.CommandContext(t.Context(), "go", append(args, s.pkg)...)
			cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "TENURE_KVNODE="+program("kvnode"),
				"TMPDIR="+t.TempDir())
			out, err := cmd.Output()
			passed := report(t, out)
			if err != nil {
				t.Errorf("go test: %v", err)
			}
			if passed < s.min {
				t.Errorf("%d tests passed, at least %d should have run", passed, s.min)
			}
			t.Logf("%s: %d tests passed; %d are beyond Tenure: %v", s.pkg, passed, len(s.beyond), s.beyond)
		})
	}
}

// report counts what passed in the output of go test -json, and shows what did not.
func report(t *testing.T, out []byte) (passed int) {
	said := map[string]*bytes.Buffer{}
	for line := range bytes.Lines(out) {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(line, &e) != nil {
			t.Logf("%s", line)
			continue
		}
		top := !strings.Contains(e.Test, "/")
		switch {
		case e.Action == "output":
			if said[e.Test] == nil {
				said[e.Test] = new(bytes.Buffer)
			}
			said[e.Test].WriteString(e.Output)
		case e.Action == "pass" && e.Test != "" && top:
			passed++
		case e.Action == "fail" && e.Test != "":
			t.Errorf("%s failed:\n%s", e.Test, said[e.Test])
		case e.Action == "skip" && e.Test != "":
			t.Errorf("%s was skipped:\n%s", e.Test, said[e.Test])
		case e.Action == "fail":
			t.Errorf("%s", said[""])
		}
	}
	return passed
}
