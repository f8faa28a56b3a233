package explore

// singles are the features that the table pairs with each other.
var singles = []string{
	"crash-restart", "renewal", "retry", "release", "redelivery", "drift", "quarantine-equals-D_P", "three-acceptors",
}

// tooLarge are pairs that get one ballot each, for their states to be counted in minutes.
func tooLarge(a, b string) bool { return a == "redelivery" || b == "redelivery" }

// TableNames are the configurations of the table, in its order: the base, each feature, each pair, and some more.
func TableNames() []string {
	names := []string{"base"}
	for _, a := range singles {
		if tooLarge(a, "") {
			a += "+one-ballot"
		}
		names = append(names, a)
	}
	for i, a := range singles {
		for _, b := range singles[i+1:] {
			name := a + "+" + b
			if tooLarge(a, b) {
				name += "+one-ballot"
			}
			names = append(names, name)
		}
	}
	return append(names, extra...)
}

// extra are the larger ones: all that a leader's node can meet with three acceptors, and the other features.
var extra = []string{
	"lost-replies", "at-most-once", "at-most-once+retry", "epochs+renewal+release", "smaller-M", "two-durations+renewal",
	"three-proposers", "three-proposers+quarantine-equals-D_P",
	"renewal+retry+release+three-acceptors",
	"quarantine-equals-D_P+renewal+retry+release+three-acceptors",
	"crash-restart+renewal+retry+release+three-acceptors",
}
