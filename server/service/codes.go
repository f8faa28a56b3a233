package service

import (
	"errors"
	"fmt"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
)

// Coded is an error that has a code by itself.
type Coded interface {
	error
	APICode() api.Code
}

// The codes of errors that are neither Coded nor an ErrUnknown: that of the first row that the error is.
var codes = []struct {
	err  error
	code api.Code
}{
	{ErrNoSpace, api.CodeNoSpace},
	{ErrLeaseGone, api.CodeLost},
	{ErrOverloaded, api.CodeOverloaded},
	{ErrNotCaughtUp, api.CodeNotReady},
	{ErrOtherCluster, api.CodeOtherCluster}, // before ErrNotApplied, which it wraps
	{ErrNotApplied, api.CodeNotApplied},
	{access.ErrUnknownToken, api.CodeUnknownToken},
	{access.ErrUnsure, api.CodeNotApplied},
	{kv.ErrCommand, api.CodeInvalid},
}

// CodeOf returns the code of err; ok is false if it has none, and says nothing of an outcome.
func CodeOf(err error) (code api.Code, ok bool) {
	var own Coded
	var denied *access.DeniedError
	switch {
	case err == nil:
		return "", false
	case errors.Is(err, ErrUnknown): // whatever else it is: a refusal of one copy, say
		return api.CodeUnknown, true
	case errors.As(err, &own):
		return own.APICode(), true
	case errors.As(err, &denied):
		return api.CodeDenied, true
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code, true
		}
	}
	return "", false
}

// IsDenied reports whether err is a denial, or says that the decision could not be made. An ErrUnknown is neither.
func IsDenied(err error) bool {
	var denied *access.DeniedError
	return !errors.Is(err, ErrUnknown) &&
		(errors.As(err, &denied) || errors.Is(err, access.ErrUnknownToken) || errors.Is(err, access.ErrUnsure))
}

// IsUnknown reports whether a request that ended with err, which is not nil, may have been carried out, or may still
// be.
func IsUnknown(err error) bool {
	code, ok := CodeOf(err)
	return !ok || OutcomeOf(code) == audit.Unknown
}

// InDoubt returns the error of a request that changes something: err, or if that does not say whether the change was
// made, err as an ErrUnknown.
func InDoubt(err error) error {
	if _, ok := CodeOf(err); ok || err == nil {
		return err
	}
	return AsUnknown(err, "read to see, or retry with the same idempotency key")
}

// AsUnknown returns err as an ErrUnknown, with what the client is to do.
func AsUnknown(err error, advice string) error {
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return fmt.Errorf("%w: %w: %s", ErrUnknown, err, advice)
}

// OutcomeOf returns what a code says of a request; "" is that of a success.
func OutcomeOf(code api.Code) audit.Outcome {
	switch code {
	case "":
		return audit.Done
	case api.CodeDenied, api.CodeUnknownToken:
		return audit.Denied
	case api.CodeUnknown, api.CodeKeyTooOld, api.CodeInternal:
		return audit.Unknown
	}
	return audit.NotApplied
}
