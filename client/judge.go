package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"tenure/api"
)

// write tries one write until its outcome is settled or ctx ends. Every try carries the same Once. The kind of error
// is honest about all tries together: doubt, once there, is ended only by the cluster's verdict.
func (c *Client) write(ctx context.Context, op, key string, r request, o WriteOptions) (answer, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	r.once = o.Once
	doubt := r.once.Key != ""
	if !doubt && !r.harmless {
		base, err := c.base(ctx)
		if err != nil {
			return answer{}, &Error{Op: op, Key: key, Kind: ErrNotApplied, Err: cause(err)}
		}
		r.once = Once{Key: uuid.NewString(), Base: base}
	}
	fail := func(kind, err error) (answer, error) {
		return answer{}, &Error{Op: op, Key: key, Kind: kind, Err: err, Once: r.once}
	}
	tries := c.rounds()
	for {
		e, err := tries.next(ctx)
		if err != nil && doubt {
			return fail(ErrUnknown, err)
		} else if err != nil {
			return fail(ErrNotApplied, err)
		}
		a, sent, err := c.exchange(ctx, e, r)
		v := judge(a, sent, err, r.understand)
		if err == nil && r.once.Key != "" && !a.ofNode() {
			v = verdict{word: unknown, err: a.stranger()}
		}
		switch {
		case v.word == settled:
			tries.answered(e)
			if v.kind == nil {
				return a, nil
			}
			return fail(v.kind, v.err)
		case v.word == lost:
			return fail(ErrUnknown, v.err)
		case v.word == refused && doubt && v.kind == ErrNoSpace:
			// This copy is out, but an earlier one may not be, and space may come.
		case v.word == refused && doubt:
			return fail(ErrUnknown, v.err)
		case v.word == refused:
			return fail(v.kind, v.err)
		case v.word == unknown:
			doubt = true
		}
		tries.failed(e, v.err)
	}
}

// word is what one try tells about a write.
type word uint8

const (
	settled    word = iota + 1 // the cluster's verdict on this write: it never changes
	refused                    // this copy was not and will not be applied, and trying again would not help
	notApplied                 // this copy was not and will not be applied; another may be
	unknown                    // this copy may have been applied, or may still be
	lost                       // an earlier copy may have been applied, and nobody can tell any more
)

// verdict is the word with what goes with it: kind for settled and refused (nil: the write was done), err for all
// but done.
type verdict struct {
	word word
	kind error
	err  error
}

// understanding tells what the body of an answer says about a write: that it was done (a nil kind), or which condition
// did not hold. It sees answers of 200, and those with a code. ok is false if the code says all there is to say.
type understanding func(a answer) (kind, err error, ok bool)

// trueOrFalse understands what most writes answer.
func trueOrFalse(a answer) (kind, err error, ok bool) {
	switch body := strings.TrimSpace(string(a.body)); {
	case a.status == http.StatusOK && body == "true":
		return nil, nil, true
	case a.status == http.StatusOK && body == "false":
		return ErrCondition, nil, true
	}
	return nil, nil, false
}

// verdictOf is what a code says about the copy of a write that it answers, taken by itself. A code that this version
// does not know, or none, leaves the outcome unknown.
func verdictOf(code api.Code) verdict {
	switch code {
	case api.CodeNotFound:
		return verdict{word: settled, kind: ErrNotFound}
	case api.CodeCondition:
		return verdict{word: settled, kind: ErrCondition}
	case api.CodeNoSession:
		return verdict{word: settled, kind: ErrNoSession}
	case api.CodeFenced:
		return verdict{word: settled, kind: ErrFenced}
	case api.CodeNotNumber:
		return verdict{word: settled, kind: ErrNotNumber}
	case api.CodeBusy:
		return verdict{word: settled, kind: ErrBusy}
	case api.CodeLost:
		return verdict{word: settled, kind: ErrLost}
	case api.CodeNotApplied, api.CodeOverloaded, api.CodeQuarantine, api.CodeNotReady:
		return verdict{word: notApplied}
	case api.CodeKeyTooOld:
		return verdict{word: lost, kind: ErrUnknown}
	}
	if kind := kindOfRefusal(code); kind != nil {
		return verdict{word: refused, kind: kind}
	}
	return verdict{word: unknown}
}

// kindOfRefusal is the sentinel for a code that says that no node will take the request as it is, or nil for any other.
func kindOfRefusal(code api.Code) error {
	switch code {
	case api.CodeInvalid:
		return ErrInvalid
	case api.CodeForbidden:
		return ErrForbidden
	case api.CodeTooLarge:
		return ErrTooLarge
	case api.CodeKeyReused:
		return ErrKeyReused
	case api.CodeNoSpace:
		return ErrNoSpace
	}
	return nil
}

// judge tells what one try of a write means, taken by itself. Only a node's code says that it was refused: a proxy may
// answer 503 or 404 after it has passed the write on.
func judge(a answer, sent bool, err error, understand understanding) verdict {
	switch {
	case err != nil && !sent:
		return verdict{word: notApplied, err: err}
	case err != nil:
		return verdict{word: unknown, err: err}
	}
	if understand == nil {
		understand = trueOrFalse
	}
	if a.status == http.StatusOK || a.code() != "" {
		if kind, err, ok := understand(a); ok {
			return verdict{word: settled, kind: kind, err: err}
		}
	}
	v := verdictOf(a.code())
	switch {
	case a.status >= http.StatusBadRequest && a.code() == "":
		v.err = a.stranger()
	case a.status >= http.StatusBadRequest:
		v.err = a.err()
	default:
		v = verdict{word: unknown, err: fmt.Errorf("%s: status %d: %w", a.endpoint, a.status, errNotUnderstood)}
	}
	return v
}

// cause strips the Error that a call inside another call made, so that only one kind remains.
func cause(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}
