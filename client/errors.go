package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenure/api"
)

// How a call ended, other than well. Every error of a method of Client is an *Error and matches exactly one of these
// with errors.Is; it may match the context's error too.
var (
	// ErrNotFound: a read of a key that is absent, or a command on one that must exist; nothing was changed.
	ErrNotFound = errors.New("not found")
	// ErrCondition: the key was not at the index given, did not hold the value given, is locked by another session, or
	// an operation of the transaction failed; nothing was changed.
	ErrCondition = errors.New("condition failed")
	// ErrNotApplied: no copy of the write was applied and none will be. Safe to try again as a new write.
	ErrNotApplied = errors.New("not applied")
	// ErrUnknown: the write may have been applied, or may still be. Read, or try again with Error.Once.
	ErrUnknown = errors.New("outcome unknown")
	// ErrKeyReused: the idempotency key was used for another write before; nothing was changed.
	ErrKeyReused = errors.New("idempotency key was used by another write")
	// ErrNoSpace: the disk reserve or quota is reached; nothing was changed. Deletes still work.
	ErrNoSpace = errors.New("no space")
	// ErrTooLarge: the value is over the cluster's limit (or a listing over MaxAnswerBytes).
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: the request is wrong in itself, such as a bad key; no node will take it.
	ErrInvalid = errors.New("invalid request")
	// ErrForbidden: the cluster does not allow it.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable: no node could answer a read or carry out a transfer in time.
	ErrUnavailable = errors.New("unavailable")
	// ErrNoSession: there is no such session, or not any more; nothing was changed.
	ErrNoSession = errors.New("no such session")
	// ErrFenced: a larger token of the fence was seen, so somebody newer is the owner; nothing was changed.
	ErrFenced = errors.New("fenced")
	// ErrNotNumber: the key does not hold a decimal number, or the sum is beyond 64 bits; nothing was changed.
	ErrNotNumber = errors.New("not a number")
	// ErrDropped: the write was applied, but by an earlier copy whose answer was lost, and what it answered was too
	// large to be remembered.
	ErrDropped = errors.New("applied, but its result is not remembered")
	// ErrBusy: somebody else holds the lease, or may, since the nodes have restarted; see BusyError and SilentError.
	ErrBusy = errors.New("busy")
	// ErrLost: what was held is not held any more, or not for certain: the session, the lock or the lease is lost.
	ErrLost = errors.New("lost")
)

// ErrRefused is wrapped by the Err of an Error that ended because every endpoint refused to be connected to, see
// Config.GiveUpRefused. Its Kind says what became of the call.
var ErrRefused = errors.New("every endpoint refuses connections")

// Once makes a write one write: copies that carry the same Once are applied at most once. The zero Once is none.
type Once struct {
	Key  string // the idempotency key, never used for another write
	Base uint64 // a revision seen before the first try
}

// Error is every error that the methods of Client return.
type Error struct {
	Op   string // such as "put"
	Key  string // the key or prefix, or "" for what has none
	Kind error  // one of the package's sentinels
	Err  error  // what happened last; may be nil, may be a *StatusError
	Once Once   // of a write that got as far as having one
}

// Error says what was being done, how it ended and what happened last.
func (e *Error) Error() string {
	s := e.Op
	if e.Key != "" {
		s += fmt.Sprintf(" %q", e.Key)
	}
	s += ": " + e.Kind.Error()
	if e.Err != nil {
		s += ": " + withoutWords(e.Err.Error(), e.Kind.Error())
	}
	return s
}

// withoutWords is a text without the words at its beginning, or at that of what a node answered, that were said
// already.
func withoutWords(text, words string) string {
	if rest, ok := strings.CutPrefix(text, words+": "); ok {
		return rest
	}
	before, rest, ok := strings.Cut(text, ": "+words+": ")
	if ok && !strings.Contains(before, ": ") {
		return before + ": " + rest
	}
	return text
}

// Unwrap makes errors.Is find the kind, and errors.As the *StatusError.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// StatusError is an answer that is not a success. It matches no sentinel by itself: what a code means for a call
// depends on the tries before it.
type StatusError struct {
	Endpoint   string
	Status     int           // the HTTP status
	Code       api.Code      // why, or "" if the answer is not that of a node
	Message    string        // the node's text, one line, cut at maxMessageBytes
	RetryAfter time.Duration // 0: the node named none
}

const maxMessageBytes = 512

// Error shows who said what.
func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s answers %d %s", e.Endpoint, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s answers %d: %s", e.Endpoint, e.Status, e.Message)
}

// errAnswerTooLarge is an answer longer than Config.MaxAnswerBytes.
var errAnswerTooLarge = errors.New("the answer is longer than MaxAnswerBytes: list in pages, with Limit and Start")

// errNotUnderstood is an answer that no node gives.
var errNotUnderstood = errors.New("the answer is not understood: is this a Tenure node?")

// errNoCode is the refusal of a node that does not say why in a code.
var errNoCode = errors.New("the answer has no error code: is the node of an older version?")

func oneLine(b []byte) string {
	if len(b) > maxMessageBytes {
		b = b[:maxMessageBytes]
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "?")), " ")
}
