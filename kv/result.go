package kv

import "fmt"

// Code tells how a command ended.
type Code uint8

// The codes. Numbers are in the dedup table on disks: they are never reused.
const (
	CodeDone      Code = 1 // applied
	CodeCondition Code = 2 // the condition did not hold; nothing was changed
	CodeKeyReused Code = 3 // the idempotency key was used by another command; nothing was changed
	CodeKeyTooOld Code = 4 // an earlier copy may have been applied: the outcome is unknown; this copy was not
	CodeMalformed Code = 5 // not a command this version knows; nothing was changed
	CodeBaseAhead Code = 6 // Base is above the store's revision, so it was never seen here; nothing was changed
	CodeTooMany   Code = 7 // of keys: see OpPrune and OpInstall; nothing was changed

	CodeMissing   Code = 8  // what must exist does not: mostly Key; nothing was changed
	CodeNoSession Code = 9  // Session.ID is not a session; nothing was changed
	CodeNotNumber Code = 10 // the value is not a decimal int64, or the sum would not be one; nothing was changed
	CodeFenced    Code = 11 // a larger token of this fence was seen; nothing was changed
	CodeFull      Code = 12 // a table of Limits is full, or the counter of eras; nothing was changed
	CodeExists    Code = 13 // what is to be created exists; nothing was changed
	CodeTooLarge  Code = 14 // a value, an upload, or what it would answer is; nothing was changed

	CodeQuota Code = 15 // the quota of a prefix does not allow it; Result.Body says which (DecodeOverQuota)

	// CodeLevel: the command needs a higher feature level than the state's. It is never remembered.
	CodeLevel Code = 16

	// CodeDecideAgain: a permission was taken away since Command.Decided; nothing was changed. Result.Count is the
	// ACL.Revision to decide with, at least. It is never remembered. Of a command with an idempotency key it says that
	// no copy with this Decided or an earlier one was applied, or ever will be: see "Exactly once" in the package comment.
	CodeDecideAgain Code = 17
	// CodeBootstrapped: there was a first token already; nothing was changed. Result.Count is the revision at which it
	// was made. It is never remembered.
	CodeBootstrapped Code = 18

	// CodeDecideInDoubt is CodeDecideAgain of a command of which an earlier copy was applied, or may have been: this copy
	// changed nothing. It is never remembered.
	CodeDecideInDoubt Code = 19

	maxCode = CodeDecideInDoubt
)

var codeTexts = [...]string{
	CodeDone: "done", CodeCondition: "condition not met", CodeKeyReused: "idempotency key used by another command",
	CodeKeyTooOld: "key too old", CodeMalformed: "malformed command", CodeBaseAhead: "base ahead of the store",
	CodeTooMany: "too many keys to prune", CodeMissing: "no such key", CodeNoSession: "no such session",
	CodeNotNumber: "not a number", CodeFenced: "fenced off by a larger token", CodeFull: "a table of the state is full",
	CodeExists: "it exists", CodeTooLarge: "the outcome is too large", CodeQuota: "over a quota",
	CodeLevel: "above the cluster's feature level", CodeDecideAgain: "permissions have changed",
	CodeBootstrapped:  "the first token was made already",
	CodeDecideInDoubt: "permissions have changed since an earlier copy was applied, or may have been",
}

// String returns a text for logs and errors.
func (c Code) String() string {
	if int(c) < len(codeTexts) && codeTexts[c] != "" {
		return codeTexts[c]
	}
	return fmt.Sprintf("code %d", uint8(c))
}

// Result is what a command came to.
type Result struct {
	Code     Code
	Revision uint64 // of the change; of the store if nothing changed
	Count    uint64 // keys deleted, or as the comment of the Op says
	// Body is what some ops answer, encoded as their comment says. A remembered result keeps at most MaxRememberedBody
	// bytes of it: a retry then gets an empty Body and Dropped, and Count is how many steps of a sequence were done.
	Body    string
	Dropped bool
}
