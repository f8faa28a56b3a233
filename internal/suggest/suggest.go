// Package suggest finds the names that a user is likely to have meant by one that does not exist.
package suggest

import (
	"slices"
	"strings"
)

// maxEdits is how many letters may be wrong.
const maxEdits = 2

// Nearest returns the names that differ from word by at most two letters added, removed, changed or swapped with the
// next, ignoring case, and those that begin with word: the nearest first. A name may not differ in more than half of
// its letters.
func Nearest(word string, names []string) []string {
	type near struct {
		name  string
		edits int
	}
	var found []near
	word = strings.ToLower(word)
	for _, name := range names {
		lower := strings.ToLower(name)
		edits := distance(word, lower)
		switch {
		case edits <= min(maxEdits, len(name)/2):
			found = append(found, near{name, edits})
		case len(word) > 1 && strings.HasPrefix(lower, word):
			found = append(found, near{name, maxEdits + 1})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.edits - b.edits })
	var out []string
	for _, n := range found {
		if n.edits == found[0].edits { // farther ones only distract
			out = append(out, n.name)
		}
	}
	return out
}

// Question returns "; did you mean X?" for the nearest of names to word, or "" if none is near. Each name is written
// behind prefix, such as "--".
func Question(word, prefix string, names []string) string {
	found := Nearest(word, names)
	if len(found) == 0 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(found, " or "+prefix) + "?"
}

// distance counts the edits that turn a into b: letters added, removed, changed, or swapped with the next.
func distance(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range now {
		now[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, now = last, now, before
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return now[len(b)]
}
