package history

import "strings"

// RevokedPrefix is above all keys that are written under tokens which end, each below one of its token's own. Their
// operations are for check.Tokens, and none of a workload's.
const RevokedPrefix = "revoked/"

// Revoke is the end of the token whose keys are below Key. It was acknowledged at Return, with Result as its revision;
// without a Result the token has expired by then.
const Revoke Kind = "revoke"

// OfTokens splits ops into those about tokens that end, and the others.
func OfTokens(ops []Op) (tokens, others []Op) {
	for _, op := range ops {
		if strings.HasPrefix(op.Key, RevokedPrefix) {
			tokens = append(tokens, op)
		} else {
			others = append(others, op)
		}
	}
	return tokens, others
}
