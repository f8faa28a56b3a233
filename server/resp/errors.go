package resp

import (
	"errors"

	"tenure/kv"
	"tenure/server/web"
)

// errorText returns what a client is told when the Backend did not carry out what it asked for. Clients repeat commands
// by themselves after -LOADING, -CLUSTERDOWN and -TRYAGAIN, so these are for what was certainly not applied.
func errorText(err error) string {
	if text, ok := deniedText(err); ok {
		return text
	}
	var undone *undoneError
	switch {
	case errors.As(err, &undone):
		return undone.Error()
	case errors.Is(err, web.ErrOverloaded):
		return "TRYAGAIN " + err.Error()
	case errors.Is(err, web.ErrNotApplied):
		return "CLUSTERDOWN " + err.Error()
	case errors.Is(err, web.ErrNoSpace):
		return "OOM " + err.Error()
	case errors.Is(err, web.ErrUnknown):
		return "UNKNOWN outcome: " + err.Error()
	}
	return "ERR " + err.Error()
}

// The texts of Redis, which clients and their tests know.
const (
	errSyntax     = "ERR syntax error"
	errNotInteger = "ERR value is not an integer or out of range"
	errNoKey      = "ERR no such key"
	errOverflow   = "ERR increment or decrement would overflow"
)

// refusalText returns what a client is told when a step was not done; ok is false for what is no refusal.
func refusalText(r result) (text string, ok bool) {
	if r.err != nil {
		return errorText(r.err), true
	}
	switch r.code {
	case kv.CodeDone, kv.CodeCondition, kv.CodeMissing:
		return "", false
	case kv.CodeNotNumber:
		if r.count == 1 {
			return errOverflow, true
		}
		return errNotInteger, true
	case kv.CodeTooLarge:
		return "ERR string exceeds maximum allowed size (proto-max-bulk-len): a value has at most as many bytes as " +
			"--max-value-bytes says, and the replies of a transaction that writes 16 MiB together: nothing was changed", true
	case kv.CodeQuota:
		text := "OOM a quota does not allow it"
		if o, err := kv.DecodeOverQuota(r.body); err == nil {
			text = "OOM " + o.String()
		}
		return text + ": nothing was changed", true
	case kv.CodeFull:
		return "OOM as many expiring keys or fences are kept as can be: nothing was changed", true
	case kv.CodeFenced:
		return "FENCED a larger token of this name was seen: nothing was changed", true
	case kv.CodeKeyReused:
		return "NOTONCE the key was used by another command: nothing was changed", true
	case kv.CodeBaseAhead:
		return "NOTONCE the base is above the store's revision: nothing was changed", true
	case kv.CodeLevel:
		return "CLUSTERDOWN not applied: the Redis protocol needs a higher feature level: upgrade all nodes, then run " +
			"kvctl upgrade finish", true
	}
	return "ERR " + r.code.String(), true
}
