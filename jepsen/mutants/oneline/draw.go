package oneline

import (
	"bytes"
	"crypto/sha256"
	"fmt"
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
	for _, m := range shuffled(all, c.seed) {
		if left == 0 {
			break
		}
		if slices.Contains(c.files, m.File) {
			continue // it is in already
		}
		if take(m) {
			left--
		}
	}
	return ms, broken
}

// shuffled returns the mutants in an order that depends on the seed and their keys alone: a change of the code changes
// the draw only where it adds mutants or takes some away.
func shuffled(all []*Mutant, seed uint64) []*Mutant {
	rank := make(map[*Mutant][sha256.Size]byte, len(all))
	for _, m := range all {
		rank[m] = sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, m.Key()))
	}
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b *Mutant) int {
		x, y := rank[a], rank[b]
		return bytes.Compare(x[:], y[:])
	})
	return out
}
