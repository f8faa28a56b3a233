package kv

import "fmt"

var codeTexts = [...]string{
	CodeDone: "done", CodeCondition: "condition not met", CodeKeyReused: "idempotency key used by another command",
	CodeKeyTooOld: "key too old", CodeMalformed: "malformed command", CodeBaseAhead: "base ahead of the store",
	CodeTooMany: "too many keys to prune", CodeMissing: "no such key", CodeNoSession: "no such session",
	CodeNotNumber: "not a number", CodeFenced: "fenced off by a larger token", CodeFull: "a table of the state is full",
	CodeExists: "it exists", CodeTooLarge: "the outcome is too large",
}

// String is c in words for logs and errors.
func (c Code) String() string {
	if int(c) < len(codeTexts) && codeTexts[c] != "" {
		return codeTexts[c]
	}
	return fmt.Sprintf("code %d", uint8(c))
}
