package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
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
		case v.word == refused && doubt && v.kind == ErrNoRoom:
			// This copy is out, but an earlier one may not be, and room may come.
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

// understanding tells what an answer of the cluster itself says about a write: that it was done (a nil kind), or which
// condition did not hold. ok is false if it is no such answer.
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

// refusals are the cluster's verdicts that any write may get, as their status and the first words of their text. They
// come out of the log, so a later copy of the write gets the same.
var refusals = []struct {
	status int
	words  string
	kind   error
}{
	{http.StatusNotFound, "there is no such key", ErrNotFound},
	{http.StatusConflict, "fenced:", ErrFenced},
	{http.StatusConflict, "the key does not hold a decimal number", ErrNotNumber},
	{http.StatusInternalServerError, "invalid session", ErrNoSession},
}

// decided is the cluster's verdict, if a holds one.
func decided(a answer, understand understanding) (verdict, bool) {
	if a.status != http.StatusOK && !a.ofNode() {
		return verdict{}, false
	}
	if understand == nil {
		understand = trueOrFalse
	}
	if kind, err, ok := understand(a); ok {
		return verdict{word: settled, kind: kind, err: err}, true
	}
	for _, r := range refusals {
		if a.status == r.status && bytes.HasPrefix(a.body, []byte(r.words)) {
			return verdict{word: settled, kind: r.kind, err: a.err()}, true
		}
	}
	return verdict{}, false
}

// judge tells what one try of a write means, taken by itself. An answer that no node gives is in doubt, a refusal too:
// a proxy may answer 503 or 404 after it has passed the write on.
func judge(a answer, sent bool, err error, understand understanding) verdict {
	switch {
	case err != nil && !sent:
		return verdict{word: notApplied, err: err}
	case err != nil:
		return verdict{word: unknown, err: err}
	}
	if v, ok := decided(a, understand); ok {
		return v
	}
	body := string(a.body)
	switch {
	case a.status >= 400 && !a.ofNode():
		return verdict{word: unknown, err: a.stranger()}
	case a.status == http.StatusInternalServerError && strings.HasPrefix(body, "Invalid Session TTL"):
		return verdict{word: refused, kind: ErrInvalid, err: a.err()}
	case a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests:
		return verdict{word: notApplied, err: a.err()}
	case a.status == http.StatusGatewayTimeout && strings.Contains(body, "key too old"):
		return verdict{word: lost, err: a.err()}
	case a.status == http.StatusInsufficientStorage:
		return verdict{word: refused, kind: ErrNoRoom, err: a.err()}
	case a.status >= 400 && a.status < 500:
		return verdict{word: refused, kind: kindOfRefusal(a.status), err: a.err()}
	case a.status >= 500:
		return verdict{word: unknown, err: a.err()}
	}
	return verdict{word: unknown, err: fmt.Errorf("%s: status %d: %w", a.endpoint, a.status, errNotUnderstood)}
}

// kindOfRefusal is the sentinel for a 4xx.
func kindOfRefusal(status int) error {
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return ErrForbidden
	case http.StatusConflict:
		return ErrKeyReused
	case http.StatusRequestEntityTooLarge:
		return ErrTooLarge
	}
	return ErrInvalid
}

// cause strips the Error that a call inside another call made, so that only one kind remains.
func cause(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}
