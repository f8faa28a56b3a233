package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"time"

	"tenure/api"
	"tenure/internal/wrongport"
)

// exchange sends r to one endpoint and reads the whole answer. sent is false only if no byte of the request was sent.
// At most one copy of a write is sent, see headerKey. Exception: if the token was refused and has been replaced
// meanwhile, a second copy is sent, since the node has done nothing with the first.
func (s *sender) exchange(ctx context.Context, e *endpoint, r request) (a answer, sent bool, err error) {
	secret := s.token.current()
	a, sent, err = s.exchangeOnce(ctx, e, r, secret)
	if err == nil && a.code() == api.CodeUnknownToken && a.ofNode() && s.token.replaced(secret) {
		return s.exchangeOnce(ctx, e, r, s.token.current())
	}
	return a, sent, err
}

// exchangeOnce is exchange with that secret of a token, once.
func (s *sender) exchangeOnce(
	ctx context.Context, e *endpoint, r request, secret string,
) (a answer, sent bool, err error) {
	if r.beforeTry != nil {
		r.beforeTry()
	}
	call := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	progress := func() {}
	if !r.noSilenceLimit {
		limit := s.silenceLimit(r)
		timer := time.AfterFunc(limit, func() {
			cancel(fmt.Errorf("silent for %v: %w", limit, context.DeadlineExceeded))
		})
		defer timer.Stop()
		progress = func() { timer.Reset(limit) }
	}
	var written sentBytes
	trace := &httptrace.ClientTrace{GotConn: written.gotConn}
	h := s.http(r, e, secret, progress)
	if r.once.Key != "" || r.idempotent || r.isRead() && !r.noSilenceLimit {
		h.Header[api.HeaderTimeoutMS] = []string{strconv.FormatInt(s.nodeTimeout(ctx, r).Milliseconds(), 10)}
	}
	resp, err := s.transport.RoundTrip(h.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err == nil {
		progress()
		e.answered.Store(true) // the answer may be long
		a = answer{endpoint: e.String(), status: resp.StatusCode, header: resp.Header}
		max := s.cfg.MaxAnswerBytes
		if isShort(r, a) {
			max = min(max, maxShortAnswer)
		}
		a.body, err = readBody(resp, max, progress)
		if max < s.cfg.MaxAnswerBytes && errors.Is(err, errAnswerTooLarge) {
			return answer{}, true, fmt.Errorf("%s: %w", e, errNotUnderstood)
		}
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errAnswerTooLarge) {
			if call.Err() != nil {
				cause = cutError{cause}
			}
			err = fmt.Errorf("no answer: %w", cause)
		}
		err = s.secure.explain(err)
		// A node refuses a certificate in the handshake, before it reads a request.
		refused := resp == nil && errors.Is(err, ErrTLS)
		return answer{}, written.any() && !refused, fmt.Errorf("%s: %w", e, err)
	}
	if a.wantsTLS() || a.wrongPort() != "" {
		return a, true, nil
	}
	s.answered.Store(true)
	s.near.observe(e, a, h.Header)
	s.learner.answered(e)
	if a.code() != api.CodeOtherCluster {
		s.revision.observe(a)
	}
	return a, true, nil
}

// maxShortAnswer is more than a node says about itself and the members, or about why it refuses something.
const maxShortAnswer = 4 << 20

// isShort reports whether the answer a to r is short, also that of a server which is no node.
func isShort(r request, a answer) bool {
	return r.short || a.status != http.StatusOK || !r.unmarked && !a.ofNode()
}

// http returns r for the node at e, as request.http does. It names the cluster.
func (s *sender) http(r request, e *endpoint, secret string, progress func()) *http.Request {
	h := r.http(e.URL, secret, progress)
	if !r.anyCluster {
		s.cluster.name(h.Header)
	}
	return h
}

// openStream sends the read r to one endpoint and returns the answer, whose body is still to be read and closed. The node
// is told that it may take timeout to begin the answer; 0: as long as it likes.
func (s *sender) openStream(ctx context.Context, e *endpoint, r request, timeout time.Duration) (*http.Response, error) {
	open := func(secret string) (*http.Response, error) {
		h := s.http(r, e, secret, func() {})
		if timeout > 0 {
			h.Header[api.HeaderTimeoutMS] = []string{strconv.FormatInt(timeout.Milliseconds(), 10)}
		}
		return s.transport.RoundTrip(h.WithContext(ctx))
	}
	secret := s.token.current()
	resp, err := open(secret)
	if err == nil && api.Code(resp.Header.Get(api.HeaderError)) == api.CodeUnknownToken && s.token.replaced(secret) {
		_ = resp.Body.Close() // nothing of it matters
		resp, err = open(s.token.current())
	}
	return resp, err
}

// silenceLimit returns how long a node may make no progress with r.
func (s *sender) silenceLimit(r request) time.Duration {
	if r.silenceLimit > 0 {
		return r.silenceLimit
	}
	return s.cfg.AttemptTimeout
}

// nodeTimeout returns how long a node may take to answer r. It is shorter than the silence limit: a node that
// waits for a master then answers "not applied" in time, where no answer would mean an unknown outcome.
func (s *sender) nodeTimeout(ctx context.Context, r request) time.Duration {
	d := s.silenceLimit(r)
	if end, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(end)/time.Duration(max(r.share, 1)))
	}
	return max(d-max(d/10, min(d/4, answerTime)), time.Millisecond)
}

// answerTime is how long a refusal may be under way from a node whose time is over: it looks at the time in rounds.
const answerTime = 100 * time.Millisecond

// answer is a whole HTTP answer, whatever its status.
type answer struct {
	endpoint string
	status   int
	header   http.Header
	body     []byte
}

// err returns the answer as an error.
func (a answer) err() *StatusError {
	return &StatusError{
		Endpoint: a.endpoint, Status: a.status, Code: a.code(), Message: oneLine(a.body),
		RetryAfter: retryAfter(a.header), Drained: a.header.Get(api.HeaderDrained) == "true",
	}
}

// failure returns the error for an answer that is no success: what the node said or, if no node said it, why it says
// nothing.
func (a answer) failure() error {
	if a.ofNode() {
		return a.err()
	}
	return a.inconclusive()
}

// code returns why the request was refused. It is "" for a success, and for an answer that is not one of a node of this
// version.
func (a answer) code() api.Code { return api.Code(a.header.Get(api.HeaderError)) }

// absent reports whether a says that there is nothing to read. Nodes of the version before this one send no code; their
// answer is known by the index, which is only in answers to reads.
func (a answer) absent() bool {
	before := a.code() == "" && a.status == http.StatusNotFound && a.header[api.HeaderIndex] != nil
	return before || a.code() == api.CodeNotFound
}

// ofNode reports whether a has a header that only nodes send: they do with every answer that is not 200, and with a 200
// about keys, sessions and fences. Any other answer may be that of a proxy or another server, and says nothing about
// the store or about a write.
func (a answer) ofNode() bool {
	return a.header[api.HeaderRevision] != nil || a.header[api.HeaderNode] != nil || a.header[api.HeaderIndex] != nil
}

// wantsTLS reports whether a is how a node that speaks TLS refuses a request without it, before it reads it.
func (a answer) wantsTLS() bool {
	return a.status == http.StatusBadRequest && !a.ofNode() && oneLine(a.body) == httpToTLS
}

// wrongPort returns what a node says to a request at a port that is not for clients, or "". It has read no more than
// the first bytes.
func (a answer) wrongPort() string {
	if a.status != http.StatusBadRequest || a.ofNode() {
		return ""
	}
	return wrongport.Told(oneLine(a.body))
}

// inconclusive returns the error for an answer that says nothing, because it is not a node's or has no code. It wraps a
// *StatusError, and errNotUnderstood or errNoCode.
func (a answer) inconclusive() error {
	status := a.err()
	if strings.HasPrefix(status.Message, "<") {
		status.Message = "" // an HTML page
	}
	if a.ofNode() {
		return fmt.Errorf("%w: %w", status, errNoCode)
	}
	if a.wantsTLS() {
		return fmt.Errorf("%s: %w", a.endpoint, errWantsTLS)
	}
	if text := a.wrongPort(); text != "" {
		return fmt.Errorf("%s: %w: %s", a.endpoint, errWrongPort, text)
	}
	return fmt.Errorf("%w: %w", status, errNotUnderstood)
}

// number returns the number in a header, 0 if there is none.
func (a answer) number(name string) uint64 {
	n, _ := strconv.ParseUint(a.header.Get(name), 10, 64)
	return n
}

// isTrue reports whether a is a success whose body is "true".
func (a answer) isTrue() bool {
	return a.status == http.StatusOK && strings.TrimSpace(string(a.body)) == "true"
}

// decodeJSON decodes the body of a into v. It leaves v alone if a says that there is nothing.
func decodeJSON(a answer, v any) error {
	if a.absent() {
		return nil
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return errNotUnderstood
	}
	return nil
}

// trustedBytes is how much memory is allocated for the declared length of an answer; more is allocated as bytes arrive.
const trustedBytes = 64 << 10

func readBody(resp *http.Response, max int64, progress func()) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }() // nothing after the body, or after an error, matters
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		b.Grow(int(min(n, trustedBytes, max)) + bytes.MinRead) // ReadFrom then finds the end without growing
	}
	if _, err := b.ReadFrom(io.LimitReader(&progressReader{resp.Body, progress}, max+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > max {
		return nil, errAnswerTooLarge
	}
	return b.Bytes(), nil
}

// retryAfter returns how long a node asks not to be asked again. Dates are ignored, because nodes send seconds.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.ParseUint(h.Get(api.HeaderRetryAfter), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(s) * time.Second
}
