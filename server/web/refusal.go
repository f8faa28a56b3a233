package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenure/api"
	"tenure/server/access"
)

// refusal is an answer other than 200, as plain text that says what to do.
type refusal struct {
	status int
	code   api.Code
	text   string
	allow  string // value of Allow, for 405
	close  bool   // the rest of the request is not read: the connection ends
	retry  time.Duration
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, code api.Code, text string) *refusal {
	return &refusal{status: status, code: code, text: text}
}

func badRequest(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, api.CodeInvalid, fmt.Sprintf(format, args...))
}

// tooLarge refuses a body or a value of more than limit bytes. Vault looks for the words "is too large".
func tooLarge(what string, limit int) *refusal {
	r := refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
		what+" is too large: at most "+byteCount(limit)+" are accepted: nothing was changed")
	r.close = true
	return r
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

// firstError returns the first of errs that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// The error table of the API, except refusals, *MemberError and *LeaseSilentError.
var backendErrors = []struct {
	err    error
	status int
	code   api.Code
}{
	{ErrUnknown, http.StatusGatewayTimeout, api.CodeUnknown},
	{ErrNoSpace, http.StatusInsufficientStorage, api.CodeNoSpace},
	{ErrLeaseGone, http.StatusConflict, api.CodeLost},
	{ErrOverloaded, http.StatusServiceUnavailable, api.CodeOverloaded},
	{ErrNotCaughtUp, http.StatusServiceUnavailable, api.CodeNotReady},
	{ErrOtherCluster, http.StatusServiceUnavailable, api.CodeOtherCluster}, // before what it is besides
	{ErrNotApplied, http.StatusServiceUnavailable, api.CodeNotApplied},
	{access.ErrUnsure, http.StatusServiceUnavailable, api.CodeNotApplied},
}

// codeOf returns the status and the code of err. An error of the Backend that says nothing about the outcome is that of
// a read here; see inDoubt.
func codeOf(err error) (status int, code api.Code) {
	if status, code, ok := coded(err); ok {
		return status, code
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return http.StatusServiceUnavailable, api.CodeNotApplied
	}
	return http.StatusInternalServerError, api.CodeInternal
}

// coded returns the status and the code of an error that has one by itself.
func coded(err error) (status int, code api.Code, ok bool) {
	var r *refusal
	var member *MemberError
	var silent *LeaseSilentError
	switch {
	case errors.As(err, &r):
		return r.status, r.code, true
	case errors.As(err, &member):
		return member.status(), member.Code, true
	case deniedCode(err) != "":
		return http.StatusForbidden, deniedCode(err), true
	case errors.As(err, &silent):
		return http.StatusServiceUnavailable, api.CodeQuarantine, true
	}
	for _, e := range backendErrors {
		if errors.Is(err, e.err) {
			return e.status, e.code, true
		}
	}
	return 0, "", false
}

// inDoubt returns the error of a write: err, or if that does not say whether the write was applied, err as an
// ErrUnknown.
func inDoubt(err error) error {
	if _, _, ok := coded(err); ok || err == nil {
		return err
	}
	return asUnknown(err, "read the key to see, or retry with the same Idempotency-Key")
}

// asUnknown returns err as an ErrUnknown, with what the client is to do.
func asUnknown(err error, advice string) error {
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return fmt.Errorf("%w: %w: %s", ErrUnknown, err, advice)
}
