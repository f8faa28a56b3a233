package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenure/api"
)

// The kinds of errors. Every error of a call is an *Error and matches exactly one of these with errors.Is; it may match
// the error of the context too.
var (
	// ErrNotFound: the key that was read, or that a command needs, is absent. Nothing was changed.
	ErrNotFound = errors.New("not found")
	// ErrCondition: the key, policy or token was not at the index given, the key did not hold the value given or is locked
	// by another session, or an operation of the transaction failed. Nothing was changed.
	ErrCondition = errors.New("condition failed")
	// ErrNotApplied: no copy of the write was applied and none will be. It is safe to try again as a new write.
	ErrNotApplied = errors.New("not applied")
	// ErrUnknown: the write may have been applied, or may still be. Read, or try again with Error.Once.
	ErrUnknown = errors.New("outcome unknown")
	// ErrKeyReused: the idempotency key was used for another write before. Nothing was changed.
	ErrKeyReused = errors.New("idempotency key was used by another write")
	// ErrNoSpace: the disk reserve or quota is reached. Nothing was changed. Deletes still work.
	ErrNoSpace = errors.New("no space")
	// ErrFeatureLevel: the cluster's feature level is too low for the request: upgrade all nodes and raise it. Nothing
	// was changed.
	ErrFeatureLevel = errors.New("above the cluster's feature level")
	// ErrTooLarge: the value is over the cluster's limit, or an answer is over MaxAnswerBytes.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: the request itself is wrong, for example its key. No node will take it.
	ErrInvalid = errors.New("invalid request")
	// ErrForbidden: the cluster does not allow the request.
	ErrForbidden = errors.New("forbidden")
	// ErrDenied: the token, or the anonymous one if none was given, does not allow the request; the text says which
	// permission is missing. Nothing was changed.
	ErrDenied = errors.New("denied")
	// ErrUnknownToken: the cluster has no token with the secret that was given: it was deleted, has expired, or never
	// was. Nothing was changed.
	ErrUnknownToken = errors.New("unknown token")
	// ErrUnavailable: no node could answer a read or carry out a transfer in time.
	ErrUnavailable = errors.New("unavailable")
	// ErrNoSession: the session does not exist, or has ended. Nothing was changed.
	ErrNoSession = errors.New("no such session")
	// ErrFenced: a larger token of the fence was seen, so there is a newer owner. Nothing was changed.
	ErrFenced = errors.New("fenced")
	// ErrNotNumber: the key does not hold a decimal number, or the sum is beyond 64 bits. Nothing was changed.
	ErrNotNumber = errors.New("not a number")
	// ErrDropped: the write was applied by an earlier copy whose answer was lost, and its result was too large to be
	// remembered.
	ErrDropped = errors.New("applied, but its result is not remembered")
	// ErrBusy: somebody else holds the lease, or may hold it because nodes have restarted; see BusyError and
	// QuarantineError.
	ErrBusy = errors.New("busy")
	// ErrMembers: the change of the members cannot be made, and nothing was changed. The code of the *StatusError says
	// why: another change runs, the member or operation does not exist, the change would change nothing, or no majority
	// would be alive.
	ErrMembers = errors.New("the members were not changed")
	// ErrLost: the session, lock or lease is not held any more, or not for certain.
	ErrLost = errors.New("lost")
)

// ErrRefused is wrapped by Error.Err if the call ended because every endpoint refused connections, see
// Config.GiveUpRefused. Error.Kind says what became of the call.
var ErrRefused = errors.New("every endpoint refuses connections")

// ErrNoSuchHost is wrapped by Error.Err if the call ended because the names of all endpoints do not exist, see
// Config.GiveUpRefused.
var ErrNoSuchHost = errors.New("no endpoint has a name that exists")

// Once identifies a write: copies that carry the same Once are applied at most once. The zero Once is none.
type Once struct {
	Key  string // the idempotency key, never used for another write
	Base uint64 // a revision seen before the first try
	// New says that this is the first try: its outcome is not in doubt yet, and the call chooses the Base. So a caller
	// can choose the key. It is false in Error.Once.
	New bool
}

// Error is the error of every call of this package.
type Error struct {
	Op   string // such as "set"
	Key  string // the key, prefix or name; "" if the call has none
	Kind error  // one of the kinds above
	Err  error  // what happened last; may be nil, may be a *StatusError
	Once Once   // of a write that was given one
	// Operation is the id of a change of the members. The same change with the same id is not made twice.
	Operation string
}

// Error says what was being done, how it ended and what happened last.
func (e *Error) Error() string {
	s := e.Op
	if e.Key != "" {
		s += fmt.Sprintf(" %q", e.Key)
	}
	s += ": " + e.Kind.Error()
	if e.Err != nil {
		s += ": " + withoutPrefix(e.Err.Error(), e.Kind.Error())
	}
	return s
}

// withoutPrefix returns text without prefix, which was printed already. The prefix stands at the beginning of text, or
// of the part that quotes a node.
func withoutPrefix(text, prefix string) string {
	if rest, ok := strings.CutPrefix(text, prefix+": "); ok {
		return rest
	}
	before, rest, ok := strings.Cut(text, ": "+prefix+": ")
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

// StatusError is an answer that is not a success. It matches none of the kinds by itself, because what a code means for
// a call depends on the tries before.
type StatusError struct {
	Endpoint   string
	Status     int           // the HTTP status
	Code       api.Code      // "" if the answer has none
	Message    string        // the node's text, one line, cut at maxMessageBytes
	RetryAfter time.Duration // 0 if the node named none
	Drained    bool          // the node knows no master, and is drained itself
}

// maxMessageBytes bounds StatusError.Message.
const maxMessageBytes = 512

// Error says which endpoint answered what.
func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s answers %d %s", e.Endpoint, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s answers %d: %s", e.Endpoint, e.Status, e.Message)
}

var (
	// errAnswerTooLarge is the error for an answer longer than Config.MaxAnswerBytes.
	errAnswerTooLarge = errors.New("the answer is longer than MaxAnswerBytes: list in pages, with Limit and Start")
	// errNotUnderstood is the error for an answer that no node gives.
	errNotUnderstood = errors.New("the answer is not understood: is this a Tenure node?")
	// errWrongPort is the error for a port of a node that is not for clients.
	errWrongPort = errors.New("wrong port")
	// errNoCode is the error for an answer of a node that is no success and has no error code.
	errNoCode = errors.New("the answer has no error code: is the node of an older version?")
)

// cause returns the reason inside an *Error, so that an error that wraps it has one kind only. Without a reason it
// returns err.
func cause(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}

// oneLine returns b as one line of valid UTF-8, cut at maxMessageBytes.
func oneLine(b []byte) string {
	if len(b) > maxMessageBytes {
		b = b[:maxMessageBytes]
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "?")), " ")
}
