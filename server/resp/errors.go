package resp

import (
	"cmp"
	"errors"
	"strings"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// prefixes are the first words of replies to errors, by their codes. Clients repeat commands by themselves after
// -LOADING, -CLUSTERDOWN and -TRYAGAIN, so these are for what was certainly not applied.
var prefixes = map[api.Code]string{
	api.CodeCondition: "ERR", api.CodeNotFound: "ERR", api.CodeNoSession: "ERR", api.CodeFenced: "FENCED",
	api.CodeNotNumber: "ERR", api.CodeBusy: "LEASEBUSY", api.CodeLost: "LEASEGONE",

	api.CodeInvalid: "ERR", api.CodeForbidden: "ERR", api.CodeDenied: "NOPERM", api.CodeUnknownToken: "NOAUTH",
	api.CodeTooLarge: "ERR", api.CodeKeyReused: "NOTONCE", api.CodeNoSpace: "OOM", api.CodeFeatureLevel: "CLUSTERDOWN",

	api.CodeMemberBusy: "ERR", api.CodeNotMember: "ERR", api.CodeMemberState: "ERR", api.CodeQuorumLoss: "ERR",

	api.CodeNotApplied: "CLUSTERDOWN", api.CodeOverloaded: "TRYAGAIN", api.CodeQuarantine: "CLUSTERDOWN",
	api.CodeNotReady: "CLUSTERDOWN", api.CodeOtherCluster: "CLUSTERDOWN",

	api.CodeUnknown: "UNKNOWN outcome:", api.CodeKeyTooOld: "UNKNOWN outcome:", api.CodeInternal: "UNKNOWN outcome:",
}

// errorText returns what a client is told when the node did not carry out what it asked for. An error without a code is
// that of a read here.
func errorText(err error) string {
	if text, ok := deniedText(err); ok {
		return text
	}
	var undone *undoneError
	if errors.As(err, &undone) {
		return undone.Error()
	}
	code, _ := service.CodeOf(err)
	text := err.Error()
	if code == api.CodeUnknown { // the prefix says so
		text = strings.TrimPrefix(text, service.ErrUnknown.Error()+": ")
	}
	return cmp.Or(prefixes[code], "ERR") + " " + text
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
			"--max-value-bytes says: nothing was changed", true
	case kv.CodeFenced:
		return "FENCED a larger token of this name was seen: nothing was changed", true
	case kv.CodeBaseAhead: // about the key, as when that was used before
		return "NOTONCE the base is above the store's revision: nothing was changed", true
	case kv.CodeLevel:
		return "CLUSTERDOWN not applied: the Redis protocol needs a higher feature level: upgrade all nodes, then run " +
			"kvctl upgrade finish", true
	}
	e := service.NotDone(&kv.Command{}, &kv.Result{Code: r.code, Body: r.body})
	return prefixes[e.Code] + " " + e.Text, true
}
