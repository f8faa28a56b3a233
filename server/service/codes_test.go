package service

import (
	"errors"
	"fmt"
	"testing"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
)

func TestCodesOfErrors(t *testing.T) {
	other := errors.New("something else")
	for _, c := range []struct {
		err     error
		code    api.Code
		unknown bool
	}{
		{err: ErrNotApplied, code: api.CodeNotApplied},
		{err: ErrOtherCluster, code: api.CodeOtherCluster},
		{err: ErrNotCaughtUp, code: api.CodeNotReady},
		{err: ErrOverloaded, code: api.CodeOverloaded},
		{err: ErrNoSpace, code: api.CodeNoSpace},
		{err: ErrUnknown, code: api.CodeUnknown, unknown: true},
		{err: ErrLeaseGone, code: api.CodeLost},
		{err: &LeaseBusyError{}, code: api.CodeBusy},
		{err: &LeaseSilentError{}, code: api.CodeQuarantine},
		{err: &access.DeniedError{}, code: api.CodeDenied},
		{err: access.ErrUnknownToken, code: api.CodeUnknownToken},
		{err: access.ErrUnsure, code: api.CodeNotApplied},
		{err: kv.ErrCommand, code: api.CodeInvalid},
		{err: Invalid("no"), code: api.CodeInvalid},
		{err: Refuse(api.CodeKeyTooOld, "old"), code: api.CodeKeyTooOld, unknown: true},
		{err: ErrAlwaysNew, code: api.CodeNotApplied},
		{err: InDoubt(other), code: api.CodeUnknown, unknown: true},
		{err: InDoubt(ErrNoSpace), code: api.CodeNoSpace},
		{err: AsUnknown(ErrOverloaded, "ask again"), code: api.CodeUnknown, unknown: true},
		{err: AsUnknown(&LeaseBusyError{}, "ask again"), code: api.CodeUnknown, unknown: true},
		{err: fmt.Errorf("%w: %w", ErrUnknown, Invalid("no")), code: api.CodeUnknown, unknown: true},
		{err: fmt.Errorf("%w: %w", ErrUnknown, &access.DeniedError{}), code: api.CodeUnknown, unknown: true},
		{err: NotApplied("why", ErrNotCaughtUp), code: api.CodeNotReady},
		{err: afterDoubt(&access.DeniedError{}, true), code: api.CodeUnknown, unknown: true},
		{err: afterDoubt(&access.DeniedError{}, false), code: api.CodeDenied},
		{err: other, unknown: true},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			if code, ok := CodeOf(err); code != c.code || ok != (c.code != "") {
				t.Errorf("%v: %q, want %q", err, code, c.code)
			}
			if IsUnknown(err) != c.unknown {
				t.Errorf("%v: unknown is %v", err, !c.unknown)
			}
		}
	}
	for _, err := range []error{&access.DeniedError{}, access.ErrUnknownToken, access.ErrUnsure} {
		if !IsDenied(err) || IsDenied(AsUnknown(err, "ask again")) {
			t.Errorf("%v, or it as unknown", err)
		}
	}
	if code, ok := CodeOf(nil); ok || code != "" || InDoubt(nil) != nil {
		t.Errorf("nil has the code %q", code)
	}
}

// A result of the log means the same whoever tells it.
func TestCodesOfResults(t *testing.T) {
	for code, want := range map[kv.Code]api.Code{
		kv.CodeDone: "", kv.CodeCondition: api.CodeCondition, kv.CodeKeyReused: api.CodeKeyReused,
		kv.CodeKeyTooOld: api.CodeKeyTooOld, kv.CodeMalformed: api.CodeInternal, kv.CodeBaseAhead: api.CodeInvalid,
		kv.CodeTooMany: api.CodeTooLarge, kv.CodeMissing: api.CodeNotFound, kv.CodeNoSession: api.CodeNoSession,
		kv.CodeNotNumber: api.CodeNotNumber, kv.CodeFenced: api.CodeFenced, kv.CodeFull: api.CodeNoSpace,
		kv.CodeExists: api.CodeKeyReused, kv.CodeTooLarge: api.CodeTooLarge, kv.CodeQuota: api.CodeNoSpace,
		kv.CodeLevel: api.CodeFeatureLevel, kv.CodeDecideAgain: api.CodeNotApplied, kv.CodeDecideInDoubt: api.CodeUnknown,
		kv.CodeDecideInDoubt + 1: api.CodeInternal, // not known here
	} {
		if got := CodeOfResult(code); got != want {
			t.Errorf("%v: %q, want %q", code, got, want)
		}
		if code == kv.CodeDone {
			continue
		}
		e := NotDone(&kv.Command{Fence: "kv/a", Token: 7}, &kv.Result{Code: code, Body: "no quota"})
		if e.Code != want || e.Text == "" {
			t.Errorf("%v: %+v", code, e)
		}
	}
}

// Nobody repeats what may have been applied, and no refusal is taken for a success.
func TestOutcomesOfCodes(t *testing.T) {
	for _, code := range api.Codes() {
		want := audit.NotApplied
		switch code {
		case api.CodeUnknown, api.CodeKeyTooOld, api.CodeInternal:
			want = audit.Unknown
		case api.CodeDenied, api.CodeUnknownToken:
			want = audit.Denied
		}
		if got := OutcomeOf(code); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
	if OutcomeOf("") != audit.Done {
		t.Error("a success is not done")
	}
}
