package recovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// What is written for people and for programs has nothing of a key, a file or a problem that a terminal obeys.
func TestWhatIsWrittenIsHarmless(t *testing.T) {
	const hostile = "x\x1b]0;OWNED\a\u009b2J\u202eevil\u200b\u3164\x7f\r"
	p := Plan{Cluster: "c", Touched: []Touched{{Name: fmt.Sprintf("key %q", hostile), First: 2, Last: 2, Slots: 1}}, Chosen: 1, Last: 2,
		Uncertain: 1, Survivors: []Survivor{{Dir: hostile}}}
	r := Report{Dir: hostile, Problems: []FileProblem{{File: hostile, Problem: hostile}}, Do: hostile, Notes: []string{hostile}}
	i := inspector{}
	i.json = json.NewEncoder(&i.buf)
	for name, write := range map[string]func(io.Writer) error{
		"report of a plan": p.Report, "plan": p.Write, "report of a check": r.Write, "check": r.WriteJSON,
		"inspect": func(w io.Writer) error {
			i.w = w
			i.show(&line{Kind: "skipped", Where: hostile, Problem: hostile})
			return i.err
		},
		"inspect --json": func(w io.Writer) error {
			i.w, i.JSON = w, true
			i.show(&line{Kind: "skipped", Where: hostile, Problem: hostile})
			return i.err
		},
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Error(name, err)
		}
		if strings.ContainsAny(out.String(), "\r\a\x1b\x7f\u009b\u202e\u200b\u3164") || !strings.Contains(out.String(), "OWNED") {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}
