package kv

import "fmt"

var codeTexts = [...]string{
	CodeDone: "done", CodeCondition: "condition not met", CodeKeyReused: "idempotency key used by another command",
	CodeKeyTooOld: "key too old", CodeMalformed: "malformed command", CodeBaseAhead: "base ahead of the store",
	CodeTooMany: "too many keys to prune",
}

// String is c in words for logs and errors.
func (c Code) String() string {
	if int(c) < len(codeTexts) && codeTexts[c] != "" {
		return codeTexts[c]
	}
	return fmt.Sprintf("code %d", uint8(c))
}
