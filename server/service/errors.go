package service

import (
	"errors"
	"fmt"
	"strings"

	"tenure/api"
)

// What a Node reports instead of a result. Each is wrapped with what happened and what to do.
var (
	// ErrNotApplied: not applied, and never will be; safe to retry. It was refused before it was proposed, or the log has
	// refused it.
	ErrNotApplied = errors.New("not applied")
	// ErrOtherCluster is an ErrNotApplied of a node that must not serve clients, because its cluster was founded beside
	// another one. The client should ask another node. Its text is that of ErrNotApplied on purpose; that it is another
	// error gives it another code.
	ErrOtherCluster = fmt.Errorf("%w", ErrNotApplied)
	// ErrNotCaughtUp: a read, which another node could answer.
	ErrNotCaughtUp = errors.New("this node has not caught up with the others: ask another one")
	// ErrOverloaded: not applied, because too much waits already; come back later.
	ErrOverloaded = errors.New("not applied: overloaded")
	// ErrUnknown: the write may have been applied, or may still be.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNoSpace: too many disks have reached their reserve or --quota-bytes; deletes and reads go on. A prefix over its
	// quota and a full table have the same code: see whyNotDone.
	ErrNoSpace = errors.New("no room on disk")
)

// Error is a refusal with a code of its own, which says what the outcome is.
type Error struct {
	Code api.Code
	Text string // what is wrong and what to do, for people
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// APICode returns the code.
func (e *Error) APICode() api.Code { return e.Code }

// Refuse refuses a request. The text says what is wrong and what to do.
func Refuse(code api.Code, text string) *Error { return &Error{Code: code, Text: text} }

// Invalid refuses a request that is wrong in itself.
func Invalid(format string, args ...any) *Error {
	return &Error{Code: api.CodeInvalid, Text: fmt.Sprintf(format, args...)}
}

// Overloaded returns the refusal of what is beyond a limit; err names it.
func Overloaded(err error) error {
	return fmt.Errorf("%w: %w; try again later, or another node", ErrOverloaded, err)
}

// notAppliedError is an ErrNotApplied for the reason that another error gives.
type notAppliedError struct {
	text string
	err  error
}

// NotApplied returns err, with why before it, as an ErrNotApplied. Its text says only once that nothing was applied.
func NotApplied(why string, err error) error {
	said := ErrNotApplied.Error() + ": "
	return &notAppliedError{said + why + ": " + strings.TrimPrefix(err.Error(), said), err}
}

func (e *notAppliedError) Error() string { return e.text }

// Unwrap makes it an ErrNotApplied, and what err is.
func (e *notAppliedError) Unwrap() []error { return []error{ErrNotApplied, e.err} }
