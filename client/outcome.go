package client

import (
	"fmt"
	"net/http"
	"strings"

	"tenure/api"
)

// class is what one try says about a write.
type class uint8

const (
	decided    class = iota + 1 // the cluster has decided this write; the answer never changes
	refused                     // this copy was not and will not be applied, and trying again would not help
	notApplied                  // this copy was not and will not be applied; another may be
	unknown                     // this copy may have been applied, or may still be
	forgotten                   // an earlier copy may have been applied, and the cluster does not know any more
)

// outcome is the result of one try of a write.
type outcome struct {
	class class
	kind  error // of decided and refused; nil if the write was applied
	err   error // what was answered; nil only if the write was applied
}

// interpreter reads the body of an answer to a write. It returns a nil kind if the write was applied, or the condition
// that failed. It is called for answers of 200 and for those with a code. ok is false if only the code counts.
type interpreter func(a answer) (kind, err error, ok bool)

// trueOrFalse interprets the answer to most writes.
func trueOrFalse(a answer) (kind, err error, ok bool) {
	switch body := strings.TrimSpace(string(a.body)); {
	case a.status == http.StatusOK && body == "true":
		return nil, nil, true
	case a.status == http.StatusOK && body == "false":
		return ErrCondition, nil, true
	}
	return nil, nil, false
}

// onlyOK returns interpret for answers of 200.
func onlyOK(interpret interpreter) interpreter {
	if interpret == nil {
		return nil
	}
	return func(a answer) (kind, err error, ok bool) {
		if a.status != http.StatusOK {
			return nil, nil, false
		}
		return interpret(a)
	}
}

// classify returns the outcome of one try of a write by itself. Only the code of a node says that the write was
// refused: a proxy may answer 503 or 404 after it has passed the write on.
func classify(a answer, sent bool, err error, interpret interpreter) outcome {
	switch {
	case err != nil && !sent:
		return outcome{class: notApplied, err: err}
	case err != nil:
		return outcome{class: unknown, err: err}
	}
	if interpret == nil {
		interpret = trueOrFalse
	}
	if a.status == http.StatusOK || a.code() != "" {
		if kind, err, ok := interpret(a); ok {
			o := outcome{class: decided, kind: kind, err: err}
			if kind == ErrDenied { // this copy: an earlier one may have been allowed
				o.class = refused
			}
			return o
		}
	}
	o := outcomeOf(a.code())
	switch {
	case a.status >= http.StatusBadRequest && a.code() == "":
		o.err = a.inconclusive()
	case a.status >= http.StatusBadRequest:
		o.err = a.err()
	default:
		o = outcome{class: unknown, err: fmt.Errorf("%s: status %d: %w", a.endpoint, a.status, errNotUnderstood)}
	}
	return o
}

// outcomeOf returns what a code says about the copy of a write that it answers. No code, or one that this version does
// not know, leaves the outcome unknown.
func outcomeOf(code api.Code) outcome {
	switch code {
	case api.CodeNotFound:
		return outcome{class: decided, kind: ErrNotFound}
	case api.CodeCondition:
		return outcome{class: decided, kind: ErrCondition}
	case api.CodeNoSession:
		return outcome{class: decided, kind: ErrNoSession}
	case api.CodeFenced:
		return outcome{class: decided, kind: ErrFenced}
	case api.CodeNotNumber:
		return outcome{class: decided, kind: ErrNotNumber}
	case api.CodeBusy:
		return outcome{class: decided, kind: ErrBusy}
	case api.CodeLost:
		return outcome{class: decided, kind: ErrLost}
	case api.CodeNotApplied, api.CodeOverloaded, api.CodeQuarantine, api.CodeNotReady, api.CodeOtherCluster:
		return outcome{class: notApplied}
	case api.CodeKeyTooOld:
		return outcome{class: forgotten, kind: ErrUnknown}
	}
	if kind := kindOfRefusal(code); kind != nil {
		return outcome{class: refused, kind: kind}
	}
	return outcome{class: unknown}
}

// kindOfRefusal returns the kind of error for a code that says that no node will take the request as it is, or nil for
// any other code.
func kindOfRefusal(code api.Code) error {
	switch code {
	case api.CodeInvalid:
		return ErrInvalid
	case api.CodeForbidden:
		return ErrForbidden
	case api.CodeDenied:
		return ErrDenied
	case api.CodeUnknownToken:
		return ErrUnknownToken
	case api.CodeTooLarge:
		return ErrTooLarge
	case api.CodeKeyReused:
		return ErrKeyReused
	case api.CodeNoSpace:
		return ErrNoSpace
	case api.CodeFeatureLevel:
		return ErrFeatureLevel
	case api.CodeMemberBusy, api.CodeNotMember, api.CodeMemberState, api.CodeQuorumLoss:
		return ErrMembers
	}
	return nil
}
