package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
)

// refusal is an answer other than 200, as plain text that says what to do.
type refusal struct {
	status int
	code   api.Code
	text   string
	allow  string // value of Allow, for 405
	close  bool   // the rest of the request is not read: the connection ends
}

func (e *refusal) Error() string { return e.text }

func refusalOf(status int, code api.Code, text string) *refusal {
	return &refusal{status: status, code: code, text: text}
}

func badRequest(format string, args ...any) *refusal {
	return refusalOf(http.StatusBadRequest, api.CodeInvalid, fmt.Sprintf(format, args...))
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
func codeOf(err error, write bool) (status int, code api.Code) {
	var r *refusal
	var silent *LeaseSilentError
	switch {
	case errors.As(err, &r):
		return r.status, r.code
	case errors.Is(err, ErrUnknown):
		return http.StatusGatewayTimeout, api.CodeUnknown
	case errors.Is(err, ErrNoSpace):
		return http.StatusInsufficientStorage, api.CodeNoSpace
	case errors.As(err, &silent):
		return http.StatusServiceUnavailable, api.CodeQuarantine
	case errors.Is(err, ErrLeaseGone):
		return http.StatusConflict, api.CodeLost
	case errors.Is(err, ErrOverloaded):
		return http.StatusServiceUnavailable, api.CodeOverloaded
	case errors.Is(err, ErrNotApplied):
		return http.StatusServiceUnavailable, api.CodeNotApplied
	case write:
		return http.StatusGatewayTimeout, api.CodeUnknown
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable, api.CodeNotApplied
	}
	return http.StatusInternalServerError, api.CodeInternal
}

// fail answers with err. Nothing may have been sent before.
func (x *exchange) fail(err error, write bool) {
	h := x.w.Header()
	status, code := codeOf(err, write)
	var r *refusal
	if errors.As(err, &r) {
		if r.allow != "" {
			h.Set("Allow", r.allow)
		}
		if r.close {
			h["Connection"] = closeConn
		}
	}
	switch code {
	case api.CodeNotApplied:
		h[api.HeaderRetryAfter] = retryNow
	case api.CodeOverloaded:
		h[api.HeaderRetryAfter] = retryLater
	case api.CodeQuarantine:
		var silent *LeaseSilentError
		errors.As(err, &silent)
		h[api.HeaderRetryAfter] = wholeSeconds(silent.Begins)
		h[api.HeaderRetryAfterMS] = []string{strconv.FormatInt(roundedUp(silent.Begins).Milliseconds(), 10)}
	}
	text := err.Error()
	if write && code == api.CodeUnknown && !errors.Is(err, ErrUnknown) {
		text = "outcome unknown: " + text + ": read the key to see, or retry with the same Idempotency-Key"
	}
	x.refuse(status, code, text)
}

// wholeSeconds is d as the value of a Retry-After, rounded up.
func wholeSeconds(d time.Duration) []string {
	return []string{strconv.Itoa(int(math.Ceil(d.Seconds())))}
}

// refuse answers with code, and a line of plain text for people.
func (x *exchange) refuse(status int, code api.Code, line string) {
	x.plain(line)
	x.fails(status, code)
	x.line(line)
}

// say answers 200 with a line of plain text.
func (x *exchange) say(line string) {
	x.plain(line)
	x.status = http.StatusOK
	x.w.WriteHeader(x.status)
	x.line(line)
}

func (x *exchange) plain(line string) {
	h := x.w.Header()
	h["Content-Length"] = []string{strconv.Itoa(len(line) + 1)}
	h["Content-Type"] = textType
	h["X-Content-Type-Options"] = noSniff
}

func (x *exchange) line(text string) {
	_, _ = x.w.Write(append([]byte(text), '\n')) // a client that went away learns nothing
}

// fails sends the head of an answer that is not a success. Every one goes through here, so that none lacks its code and
// the node's number.
func (x *exchange) fails(status int, code api.Code) {
	h := x.w.Header()
	h[api.HeaderNode] = x.node
	h[api.HeaderError] = codeTexts[code]
	x.status = status
	x.w.WriteHeader(status)
}

// codeTexts holds each code as the value of its header.
var codeTexts = func() map[api.Code][]string {
	texts := make(map[api.Code][]string)
	for _, c := range api.Codes() {
		texts[c] = []string{string(c)}
	}
	return texts
}()
