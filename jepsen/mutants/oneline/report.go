package oneline

import "fmt"

// report prints how many of the chosen mutants came to which end, and the survivors with their changes.
func (h *hunt) report(ms, broken []*Mutant) {
	counts := map[Verdict]int{}
	pending := 0
	for _, m := range ms {
		r, known := h.results.old[m.Key()]
		switch {
		case !known:
			pending++
			continue
		case r.Verdict == Survived && h.equal[m.equalKey()] != "":
			r.Verdict = Equal
		case r.Verdict == Survived:
			fmt.Fprintf(h.o.Out, "%s\n\t%d tests call it\n", m.Diff(), r.Tests)
		}
		counts[r.Verdict]++
	}
	fmt.Fprintf(h.o.Out, "generated %d, not compiling %d, killed %d (%d by time, %d by memory), equal %d, "+
		"survivors %d, not yet run %d\n", len(ms)+len(broken), len(broken)+counts[NotCompiled],
		counts[Killed]+counts[TookLong]+counts[TookMemory], counts[TookLong], counts[TookMemory],
		counts[Equal], counts[Survived], pending)
}
