package bench

import (
	"errors"
	"net"
	"os"
)

// kind is how an operation ended.
type kind uint8

const (
	done kind = iota
	condition
	notFound
	notApplied
	unknown
	noRoom
	tooLarge
	invalid
	forbidden
	otherStatus
	timedOut
	lost
	unreachable
	malformed
	notSent
	kinds // how many there are
)

// kindNames are the words of kvctl for outcomes, where it has them.
var kindNames = [kinds]string{"done", "condition failed", "not found", "not applied", "unknown", "no room", "too large",
	"invalid", "forbidden", "other status", "timeout", "connection lost", "connection refused", "malformed answer", "not sent"}

// String is the word for people and for JSON.
func (k kind) String() string { return kindNames[k] }

// ofStatus is what an HTTP status comes to.
func ofStatus(code int) kind {
	switch code {
	case 200:
		return done
	case 404:
		return notFound
	case 409:
		return condition
	case 429, 503:
		return notApplied
	case 500, 504:
		return unknown
	case 507:
		return noRoom
	case 413:
		return tooLarge
	case 400, 405:
		return invalid
	case 401, 403:
		return forbidden
	}
	return otherStatus
}

// ofError is what a failed exchange on a connection comes to.
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

// broken tells whether the connection is of no more use, or there is none.
func (k kind) broken() bool { return k == timedOut || k == lost || k == unreachable || k == malformed }
