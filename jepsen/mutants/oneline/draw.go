package oneline

import (
	"math/rand/v2"
	"regexp"
	"slices"
)

// choice says which mutants are wanted.
type choice struct {
	files []string       // all of these files
	seed  uint64         //
	count int            // and so many of all files, drawn by the seed
	match *regexp.Regexp // of those, only the ones whose key matches; nil: all
}

// pick returns the chosen mutants, those of files first, and how many of them do not compile, which are left out. The
// draw goes on until count of them compile. old tells what is known from an earlier run.
func (c *choice) pick(all []*Mutant, old map[string]result) (ms []*Mutant, broken []*Mutant) {
	seen := map[*Mutant]bool{}
	take := func(m *Mutant) bool {
		if seen[m] || c.match != nil && !c.match.MatchString(m.Key()) {
			return false
		}
		seen[m] = true
		r, known := old[m.Key()]
		if known && r.Verdict == NotCompiled || !known && !m.pkg.compiles(m) {
			broken = append(broken, m)
			return false
		}
		ms = append(ms, m)
		return true
	}
	for _, m := range all {
		if slices.Contains(c.files, m.File) {
			take(m)
		}
	}
	left := c.count
	for _, i := range rand.New(rand.NewPCG(c.seed, 0)).Perm(len(all)) {
		if left == 0 {
			break
		}
		if slices.Contains(c.files, all[i].File) {
			continue // it is in already
		}
		if take(all[i]) {
			left--
		}
	}
	return ms, broken
}
