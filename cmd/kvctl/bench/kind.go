package bench

import (
	"errors"
	"net"
	"os"

	"tenure/api"
)

// kind is how an operation ended.
type kind uint8

const (
	done kind = iota
	condition
	notFound
	notApplied
	unknown
	noSpaceLeft
	tooLarge
	invalid
	forbidden
	denied
	otherStatus
	timedOut
	lost
	unreachable
	malformed
	notSent
	kinds // how many there are
)

// kindNames are the names of the kinds, those of kvctl where it has one.
var kindNames = [kinds]string{
	"done", "condition failed", "not found", "not applied", "unknown", "no space", "too large", "invalid", "forbidden", "denied",
	"other status", "timeout", "connection lost", "connection refused", "malformed answer", "not sent",
}

// String returns the name, for people and for JSON.
func (k kind) String() string { return kindNames[k] }

// ofCode has the kind for each error code.
var ofCode = map[api.Code]kind{
	api.CodeCondition: condition, api.CodeFenced: condition, api.CodeNotNumber: condition, api.CodeNoSession: condition,
	api.CodeKeyReused: condition, api.CodeBusy: condition, api.CodeLost: condition,
	api.CodeMemberBusy: condition, api.CodeNotMember: condition, api.CodeMemberState: condition,
	api.CodeQuorumLoss: condition, api.CodeFeatureLevel: condition,
	api.CodeNotFound:   notFound,
	api.CodeNotApplied: notApplied, api.CodeOverloaded: notApplied,
	api.CodeQuarantine: notApplied, api.CodeNotReady: notApplied, api.CodeOtherCluster: notApplied,
	api.CodeUnknown: unknown, api.CodeKeyTooOld: unknown, api.CodeInternal: unknown,
	api.CodeNoSpace: noSpaceLeft, api.CodeTooLarge: tooLarge, api.CodeInvalid: invalid, api.CodeForbidden: forbidden,
	api.CodeDenied: denied, api.CodeUnknownToken: denied,
}

// ofError returns the kind of a failed exchange on a connection.
func ofError(err error) kind {
	var n net.Error
	switch {
	case errors.Is(err, errMalformed):
		return malformed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &n) && n.Timeout():
		return timedOut
	}
	return lost
}

// broken reports whether the connection cannot be used any more, or there is none.
func (k kind) broken() bool { return k == timedOut || k == lost || k == unreachable || k == malformed }
