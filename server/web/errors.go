package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// refusal is an answer other than 200, as plain text that says what to do.
type refusal struct {
	code  int
	text  string
	allow string // value of Allow, for 405
	close bool   // the rest of the request is not read: the connection ends
}

func (e *refusal) Error() string { return e.text }

func badRequest(format string, args ...any) *refusal {
	return &refusal{code: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

var (
	textType   = []string{"text/plain; charset=utf-8"}
	jsonType   = []string{"application/json"}
	bytesType  = []string{"application/octet-stream"}
	noSniff    = []string{"nosniff"}
	sandbox    = []string{"sandbox"}
	retryLater = []string{"1"} // seconds
	retryNow   = []string{"0"} // through another node, or here: a master may be ready any moment
	closeConn  = []string{"close"}
	bodyTrue   = []byte("true")
	bodyFalse  = []byte("false")
)

// codeOf places err in the error table of the API. What the Backend says is taken at its word. A deadline that comes
// out of it unwrapped is "unknown" for a write, which may have been proposed, and "not applied" for a read.
func codeOf(err error, write bool) int {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r.code
	case errors.Is(err, ErrUnknown):
		return http.StatusGatewayTimeout
	case errors.Is(err, ErrNoRoom):
		return http.StatusInsufficientStorage
	case errors.Is(err, ErrNotApplied), errors.Is(err, ErrOverloaded):
		return http.StatusServiceUnavailable
	case write:
		return http.StatusGatewayTimeout
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers with err. Nothing may have been sent before.
func (x *exchange) fail(err error, write bool) {
	h := x.w.Header()
	code := codeOf(err, write)
	var r *refusal
	if errors.As(err, &r) {
		if r.allow != "" {
			h.Set("Allow", r.allow)
		}
		if r.close {
			h["Connection"] = closeConn
		}
	}
	if code == http.StatusServiceUnavailable {
		h["Retry-After"] = retryNow
		if errors.Is(err, ErrOverloaded) {
			h["Retry-After"] = retryLater
		}
		if silent := (*LeaseSilentError)(nil); errors.As(err, &silent) {
			h["Retry-After"] = wholeSeconds(silent.Begins)
		}
	}
	text := err.Error()
	if write && code == http.StatusGatewayTimeout && r == nil && !errors.Is(err, ErrUnknown) {
		text = "outcome unknown: " + text + ": read the key to see, or retry with the same Idempotency-Key"
	}
	x.text(code, text)
}

// wholeSeconds is d as the value of a Retry-After, rounded up.
func wholeSeconds(d time.Duration) []string {
	return []string{strconv.Itoa(int(math.Ceil(d.Seconds())))}
}

// text answers with one line of plain text.
func (x *exchange) text(code int, line string) {
	h := x.w.Header()
	h["Content-Type"] = textType
	h["X-Content-Type-Options"] = noSniff
	if code != http.StatusOK {
		h[headNode] = x.node
	}
	h["Content-Length"] = []string{strconv.Itoa(len(line) + 1)}
	x.code = code
	x.w.WriteHeader(code)
	_, _ = x.w.Write(append([]byte(line), '\n')) // a client that went away learns nothing
}
