package sim

import (
	"fmt"
	"io"
)

// trace is a hash of everything that happened in a run and, if somebody wants to read it, a line for each step.
type trace struct {
	hash uint64
	out  io.Writer // nil: no lines
	line []byte
}

// mix adds numbers to the hash.
func (t *trace) mix(vs ...uint64) {
	h := t.hash
	for _, v := range vs {
		h = (h ^ v) * 0x9fb21c651e98df25
		h ^= h >> 29
	}
	t.hash = h
}

// begin begins the line of a step.
func (t *trace) begin(step int, e *event) {
	id := uint64(0)
	if e.machine != nil {
		id = uint64(e.machine.id)
	}
	t.mix(uint64(e.at), uint64(e.kind)<<8|id)
	if t.out != nil {
		who := "  "
		if id != 0 {
			who = fmt.Sprintf("n%d", id)
		}
		t.line = fmt.Appendf(t.line[:0], "%6d %12.6f %s %-6s", step, (e.at - startTime).Seconds(), who,
			kindNames[e.kind])
	}
}

// on reports whether lines are written. Callers ask before they make the arguments of note.
func (t *trace) on() bool { return t.out != nil }

// note adds what happened to the line of the step.
func (t *trace) note(format string, args ...any) {
	t.line = append(t.line, ' ', ' ')
	t.line = fmt.Appendf(t.line, format, args...)
}

// end writes the line of the step.
func (t *trace) end() {
	if t.out != nil {
		t.line = append(t.line, '\n')
		_, _ = t.out.Write(t.line) // a trace that cannot be written changes nothing
		t.line = t.line[:0]
	}
}

// fail writes what ended the run.
func (t *trace) fail(f *Failure) {
	if t.out != nil {
		t.end()
		fmt.Fprintf(t.out, "FAILED %v\n", f)
	}
}
