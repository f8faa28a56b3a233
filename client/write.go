package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxKeyBytes is the longest key that a cluster takes.
const MaxKeyBytes = 1024

// WriteOptions goes with a write. The zero value is a plain new write.
type WriteOptions struct {
	// Flags are stored with the entry (Put and CAS only).
	Flags uint64
	// Once, if its Key is not "", makes this another try of an earlier write, whose Error.Once it is. The outcome of
	// that earlier try counts as unknown from the start.
	Once Once
}

// Put writes a value and returns the revision of the write, which is the entry's new ModifyIndex.
func (c *Client) Put(ctx context.Context, key string, value []byte, o WriteOptions) (uint64, error) {
	return c.put(ctx, "put", key, value, nil, o)
}

// CAS writes a value if the key's ModifyIndex is index, or if index is 0 and the key is absent; else ErrCondition. It
// returns the revision of the write.
func (c *Client) CAS(ctx context.Context, key string, value []byte, index uint64, o WriteOptions) (uint64, error) {
	return c.put(ctx, "cas", key, value, &index, o)
}

// Delete removes a key and returns the store's revision after it. An absent key is no error.
func (c *Client) Delete(ctx context.Context, key string, o WriteOptions) (uint64, error) {
	return c.delete(ctx, "delete", key, nil, o)
}

// DeleteCAS removes a key if its ModifyIndex is index; else ErrCondition. An absent key is no error.
func (c *Client) DeleteCAS(ctx context.Context, key string, index uint64, o WriteOptions) (uint64, error) {
	return c.delete(ctx, "delete", key, &index, o)
}

// Prune removes every key that starts with prefix (all keys, if it is empty) in one atomic write. It returns how many
// there were and the revision.
func (c *Client) Prune(ctx context.Context, prefix string, o WriteOptions) (count, revision uint64, err error) {
	r := request{method: http.MethodDelete, path: pathOf(prefix), query: "recurse"}
	a, err := c.write(ctx, "prune", prefix, r, o)
	if err != nil {
		return 0, 0, err
	}
	return a.number(headerCount), a.number(headerRevision), nil
}

func (c *Client) put(ctx context.Context, op, key string, value []byte, index *uint64, o WriteOptions) (uint64, error) {
	if err := checkKey(key); err != nil {
		return 0, &Error{Op: op, Key: key, Kind: ErrInvalid, Err: err}
	}
	var q query
	q.cas(index)
	if o.Flags != 0 {
		q.value("flags", strconv.FormatUint(o.Flags, 10))
	}
	if value == nil {
		value = []byte{}
	}
	r := request{method: http.MethodPut, path: pathOf(key), query: strings.Join(q, "&"), body: value}
	a, err := c.write(ctx, op, key, r, o)
	return a.number(headerRevision), err
}

func (c *Client) delete(ctx context.Context, op, key string, index *uint64, o WriteOptions) (uint64, error) {
	if err := checkKey(key); err != nil {
		return 0, &Error{Op: op, Key: key, Kind: ErrInvalid, Err: err}
	}
	var q query
	q.cas(index)
	r := request{method: http.MethodDelete, path: pathOf(key), query: strings.Join(q, "&")}
	a, err := c.write(ctx, op, key, r, o)
	return a.number(headerRevision), err
}

func (q *query) cas(index *uint64) {
	if index != nil {
		q.value("cas", strconv.FormatUint(*index, 10))
	}
}

// checkKey says early what any node would say, because an empty key would turn one request into another.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty: a key has 1 to 1,024 bytes")
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("the key has %d bytes: a key has 1 to 1,024", len(key))
	case !utf8.ValidString(key):
		return errors.New("the key is not UTF-8")
	}
	return nil
}

// write tries one write until its outcome is settled or ctx ends. Every try carries the same Once. The kind of error
// is honest about all tries together: doubt, once there, is ended only by the cluster's verdict.
func (c *Client) write(ctx context.Context, op, key string, r request, o WriteOptions) (answer, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	r.once = o.Once
	doubt := r.once.Key != ""
	if !doubt {
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
		v := judge(a, sent, err)
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

// judge tells what one try of a keyed write means, taken by itself. An answer that no node gives is in doubt.
func judge(a answer, sent bool, err error) verdict {
	switch {
	case err != nil && !sent:
		return verdict{word: notApplied, err: err}
	case err != nil:
		return verdict{word: unknown, err: err}
	}
	body := strings.TrimSpace(string(a.body))
	switch {
	case a.status == http.StatusOK && body == "true":
		return verdict{word: settled}
	case a.status == http.StatusOK && body == "false":
		return verdict{word: settled, kind: ErrCondition}
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
