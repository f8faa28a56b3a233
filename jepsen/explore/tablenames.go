package explore

import "slices"

// singles are the features that the table pairs with each other.
var singles = []string{
	"crash-restart", "renewal", "retry", "release", "redelivery", "drift", "quarantine-equals-D_P", "three-acceptors",
}

// TableNames returns the configurations of the table, in its order: the base, each feature, each pair, each pair with
// three acceptors, and larger ones.
func TableNames() []string {
	names := append([]string{"base"}, singles...)
	last := len(singles) - 1
	var three []string
	for i, a := range singles {
		for j, b := range singles[i+1:] {
			names = append(names, a+"+"+b)
			if i+1+j < last {
				three = append(three, withThree(a, b))
			}
		}
	}
	names = append(append(names, three...), extra...)
	for _, w := range worlds() {
		if !slices.Contains(shown, w.label()) {
			names = append(names, w.label())
		}
	}
	return names
}

// withThree returns the name of a pair with three acceptors. Where a proposer restarts, its attempts end in time.
func withThree(a, b string) string {
	name := a + "+" + b + "+three-acceptors"
	if a == "crash-restart" {
		name += "+prompt"
	}
	return name
}

// extra are configurations with other features or more of them.
var extra = []string{
	"guardian", "guardian+crash-restart", "guardian+renewal", "guardian+retry", "guardian+release",
	"guardian+redelivery", "guardian+drift",
	"guardian+quarantine-equals-D_P", "guardian+three-acceptors+prompt", "guardian+renewal+retry",
	"guardian+renewal+three-acceptors+one-ballot",
	"guardian+at-most-once", "guardian+asynchrony+one-ballot",
	"at-most-once", "at-most-once+retry", "epochs+renewal+release+three-acceptors",
	"smaller-M+three-acceptors+one-ballot",
	"two-durations+renewal+three-acceptors", "three-proposers", "three-proposers+quarantine-equals-D_P",
	"three-proposers+three-acceptors", "asynchrony+one-ballot", "asynchrony+one-ballot+short-leases+crash-restart",
	"renewal+retry+release+three-acceptors",
	"crash-restart+three-acceptors+prompt",
	"crash-restart+renewal+release+three-acceptors+prompt",
	"quarantine-equals-D_P+renewal+retry+release+three-acceptors+prompt",
	"crash-restart+renewal+retry+release+three-acceptors+prompt",
	"crash-restart+renewal+retry+release+redelivery+three-acceptors+prompt",
}
