package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenure/api"
)

// headerKey is api.HeaderIdempotencyKey, spelled in the one way in which net/http's transport does not know it. Knowing
// it, the transport would send a keyed write again by itself when a kept connection breaks under it, and a refusal of
// the second copy would hide that the first may have been applied.
const headerKey = "idempotency-key"

// request is what every try of a call sends.
type request struct {
	method string
	path   string // decoded
	query  string // encoded
	body   []byte
	once   Once
	// understand reads the verdict on a write; nil is trueOrFalse.
	understand understanding
	// harmless writes may be applied twice, and late, so they carry no idempotency key: it would push out others.
	harmless bool
	// silence is how long a node may make no progress, if it is not Config.AttemptTimeout.
	silence time.Duration
	// leaves, if not nil, is called before each try.
	leaves func()
	// bare reads have none of a read's headers in their answer of 200, which is recognized by its body.
	bare bool
	// patient requests are answered only when something is done: only the context bounds a silent node.
	patient bool
}

// answer is a whole HTTP answer, whatever its status.
type answer struct {
	endpoint string
	status   int
	header   http.Header
	body     []byte
}

// err is the answer as an error.
func (a answer) err() *StatusError {
	return &StatusError{
		Endpoint: a.endpoint, Status: a.status, Code: a.code(),
		Message: oneLine(a.body), RetryAfter: retryAfter(a.header)}
}

// code is why the request was refused, or "" if the answer does not say so: it is a success, or not the answer of a
// node of this version.
func (a answer) code() api.Code { return api.Code(a.header.Get(api.HeaderError)) }

// absent reports whether a says that nothing is there to be read. Nodes of the version before this one send no code;
// their answer is known by the index that is only in those of a read.
func (a answer) absent() bool {
	before := a.code() == "" && a.status == http.StatusNotFound && a.header[api.HeaderIndex] != nil
	return before || a.code() == api.CodeNotFound
}

// ofNode reports whether a bears a mark that nodes put on their answers: on every one that is not 200, and on a 200 to
// what reads or writes keys, sessions and fences. Without it the answer may be a proxy's, or that of some other server:
// it tells nothing about the store, nor what became of a write.
func (a answer) ofNode() bool {
	return a.header[api.HeaderRevision] != nil || a.header[api.HeaderNode] != nil || a.header[api.HeaderIndex] != nil
}

// stranger is the error for an answer that nothing may be concluded from: it is not that of a node, or has no code. It
// is a *StatusError, and errNotUnderstood or errNoCode.
func (a answer) stranger() error {
	status := a.err()
	if strings.HasPrefix(status.Message, "<") {
		status.Message = "" // a page for people
	}
	if a.ofNode() {
		return fmt.Errorf("%w: %w", status, errNoCode)
	}
	return fmt.Errorf("%w: %w", status, errNotUnderstood)
}

// number is a header's value, 0 if it is absent or none.
func (a answer) number(name string) uint64 {
	n, _ := strconv.ParseUint(a.header.Get(name), 10, 64)
	return n
}

// exchange sends r to one endpoint, once as far as the caller is concerned, and reads the whole answer. sent is false
// only if no byte of the request has left. One copy of a write leaves at
// most (see headerKey).
func (c *Client) exchange(ctx context.Context, endpoint int, r request) (a answer, sent bool, err error) {
	if r.leaves != nil {
		r.leaves()
	}
	base := c.endpoints[endpoint]
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	progress := func() {}
	if !r.patient {
		silence := c.cfg.AttemptTimeout
		if r.silence > 0 {
			silence = r.silence
		}
		timer := time.AfterFunc(silence, func() {
			cancel(fmt.Errorf("silent for %v: %w", silence, context.DeadlineExceeded))
		})
		defer timer.Stop()
		progress = func() { timer.Reset(silence) }
	}
	var left departure
	trace := &httptrace.ClientTrace{GotConn: left.gotConn}
	h := r.http(base, progress)
	if r.once.Key != "" || r.harmless {
		h.Header[api.HeaderTimeoutMS] = []string{strconv.FormatInt(c.patience(ctx, r.silence).Milliseconds(), 10)}
	}
	resp, err := c.transport.RoundTrip(h.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err == nil {
		progress()
		a = answer{endpoint: base.String(), status: resp.StatusCode, header: resp.Header}
		a.body, err = readBody(resp, c.cfg.MaxAnswerBytes, progress)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errAnswerTooLarge) {
			err = fmt.Errorf("no answer: %w", cause)
		}
		return answer{}, left.any(), fmt.Errorf("%s: %w", base, err)
	}
	c.answered.Store(true)
	c.seen.observe(a)
	return a, true, nil
}

// patience is for how long a node may sit on a write: less than the silence after which it is left, 0 being the usual
// one. A node that waits for a master answers "not applied" when this time is over; hearing nothing, the client would
// have to call the outcome unknown.
func (c *Client) patience(ctx context.Context, silence time.Duration) time.Duration {
	d := c.cfg.AttemptTimeout
	if silence > 0 {
		d = silence
	}
	if end, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(end))
	}
	return max(d-d/10, time.Millisecond)
}

// http is r for the node at base. progress is called as the body goes out.
func (r request) http(base *url.URL, progress func()) *http.Request {
	h := &http.Request{
		Method: r.method,
		URL:    &url.URL{Scheme: base.Scheme, Host: base.Host, Path: r.path, RawPath: escapePath(r.path), RawQuery: r.query},
		Host:   base.Host,
		Header: http.Header{"User-Agent": {"tenure-client"}},
	}
	if r.once.Key != "" {
		h.Header[headerKey] = []string{r.once.Key}
		h.Header[api.HeaderBase] = []string{strconv.FormatUint(r.once.Base, 10)}
	}
	if r.body != nil {
		h.ContentLength = int64(len(r.body))
		h.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(&progressReader{bytes.NewReader(r.body), progress}), nil
		}
		h.Body, _ = h.GetBody()
		if h.ContentLength == 0 {
			h.Body, h.GetBody = http.NoBody, nil
		}
	}
	return h
}

// escapePath escapes every segment and keeps the slashes, so that "//", ".." and "%2F" in a key mean themselves.
func escapePath(p string) string {
	return strings.ReplaceAll(url.PathEscape(p), "%2F", "/")
}

// progressReader tells of each piece that was read.
type progressReader struct {
	r        io.Reader
	progress func()
}

// Read reads on.
func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.progress()
	return n, err
}

// trustedBytes is how much memory an answer gets on its declared length alone; more only as bytes arrive.
const trustedBytes = 64 << 10

func readBody(resp *http.Response, max int64, progress func()) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }() // what follows a whole body, or an error, is of no interest
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		b.Grow(int(min(n, trustedBytes, max)) + bytes.MinRead) // so that the end is found without growing
	}
	if _, err := b.ReadFrom(io.LimitReader(&progressReader{resp.Body, progress}, max+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > max {
		return nil, errAnswerTooLarge
	}
	return b.Bytes(), nil
}

// retryAfter is how long a node asks to be left alone. Dates are not understood: no node sends them.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.ParseUint(h.Get(api.HeaderRetryAfter), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(s) * time.Second
}
