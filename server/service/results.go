package service

import (
	"fmt"
	"strconv"

	"tenure/api"
	"tenure/kv"
	"tenure/server/audit"
)

// CodeOfResult returns the code of a command that came through the log and to this result; "" if it was applied.
func CodeOfResult(c kv.Code) api.Code {
	switch c {
	case kv.CodeDone:
		return ""
	case kv.CodeCondition:
		return api.CodeCondition
	case kv.CodeKeyReused, kv.CodeExists:
		return api.CodeKeyReused
	case kv.CodeKeyTooOld:
		return api.CodeKeyTooOld
	case kv.CodeBaseAhead:
		return api.CodeInvalid
	case kv.CodeTooMany, kv.CodeTooLarge:
		return api.CodeTooLarge
	case kv.CodeMissing:
		return api.CodeNotFound
	case kv.CodeNoSession:
		return api.CodeNoSession
	case kv.CodeNotNumber:
		return api.CodeNotNumber
	case kv.CodeFenced:
		return api.CodeFenced
	case kv.CodeFull, kv.CodeQuota:
		return api.CodeNoSpace
	case kv.CodeDecideAgain:
		return api.CodeNotApplied
	case kv.CodeDecideInDoubt:
		return api.CodeUnknown
	case kv.CodeLevel:
		return api.CodeFeatureLevel
	}
	return api.CodeInternal
}

// MayBeApplied reports whether a command that was not done, by this result, may have been applied as an earlier copy.
func MayBeApplied(c kv.Code) bool { return OutcomeOf(CodeOfResult(c)) == audit.Unknown }

// NotDone returns the refusal of a command that came through the log and was not applied.
func NotDone(c *kv.Command, res *kv.Result) *Error {
	return &Error{Code: CodeOfResult(res.Code), Text: whyNotDone(c, res)}
}

func whyNotDone(c *kv.Command, res *kv.Result) string {
	switch res.Code {
	case kv.CodeKeyReused:
		return "the idempotency key was used by another write: nothing was changed: " +
			"use a new key for each write, and the same only to retry it unchanged"
	case kv.CodeKeyTooOld:
		return "key too old: outcome unknown: this copy was not applied, but an earlier one with this idempotency key " +
			"may have been: read the key to see, then write with a new key and base"
	case kv.CodeBaseAhead:
		return "the base is above the store's revision, so it was never seen here: nothing was changed: " +
			"send a revision that this cluster answered"
	case kv.CodeTooMany:
		return "prune too large: more than " + strconv.Itoa(kv.DefaultLimits.PruneKeys) + " keys start with this: " +
			"nothing was changed: prune longer prefixes one after another"
	case kv.CodeMissing:
		return "there is no such key: nothing was changed"
	case kv.CodeNoSession:
		return NoSession(c.Session.ID).Text
	case kv.CodeNotNumber:
		return "the key does not hold a decimal number, or the sum is beyond 64 bits: nothing was changed"
	case kv.CodeFenced:
		return "fenced: a larger token than " + strconv.FormatUint(c.Token, 10) + " of " + strconv.Quote(c.Fence) +
			" was seen: nothing was changed: whoever holds the newer token is the owner"
	case kv.CodeFull:
		return "no room in a table: " + tables + ": nothing was changed: end some, then try again"
	case kv.CodeQuota:
		return "no room under a quota: " + overQuota(res) + ": nothing was changed: delete keys under that prefix, " +
			"or have its quota raised, then try again"
	case kv.CodeExists:
		return "a session of this ID exists: use a new idempotency key for each session"
	case kv.CodeTooLarge:
		return "result too large: the entries that the transaction would show have too many bytes: nothing was changed: " +
			"read fewer of them at a time"
	case kv.CodeDecideAgain:
		return "not applied: permissions have changed: try again"
	case kv.CodeDecideInDoubt:
		return "outcome unknown: " + res.Code.String() + ": this copy was not applied: read to see"
	case kv.CodeLevel:
		return "not applied: it needs feature level " + strconv.FormatUint(c.Level(), 10) +
			", and the cluster is at a lower one: upgrade all nodes, then run kvctl upgrade finish"
	}
	return "the cluster's nodes do not know this command: bring all nodes to the same version"
}

// tables says what a cluster keeps at most of what it has in memory whole.
var tables = fmt.Sprintf("at most %d sessions, %d locks, %d expiring keys, %d fences, %d quotas, %d policies and "+
	"%d tokens are kept", kv.DefaultLimits.Sessions, kv.DefaultLimits.Locks, kv.DefaultLimits.ExpiringKeys,
	kv.DefaultLimits.Fences, kv.DefaultLimits.Quotas, kv.DefaultLimits.Policies, kv.DefaultLimits.Tokens)

// overQuota says which quota does not allow a write.
func overQuota(res *kv.Result) string {
	if o, err := kv.DecodeOverQuota(res.Body); err == nil {
		return o.String()
	}
	return "the quota of a prefix does not allow it"
}

// NoSession is Consul's answer to a lock with a session that is none: its clients look for the first words.
func NoSession(id string) *Error {
	return &Error{Code: api.CodeNoSession, Text: "invalid session " + strconv.Quote(id) +
		": it does not exist, or not any more: nothing was changed: create one"}
}
