package web

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// Values of headers. They are shared by all answers: nobody appends to them.
var (
	textType   = []string{"text/plain; charset=utf-8"}
	jsonType   = []string{"application/json"}
	bytesType  = []string{"application/octet-stream"}
	eventsType = []string{"text/event-stream"}
	noStore    = []string{"no-store"}
	noSniff    = []string{"nosniff"}
	sandbox    = []string{"sandbox"}
	retryLater = []string{"1"} // seconds
	retryNow   = []string{"0"} // through another node, or here: a master may be ready any moment
	closeConn  = []string{"close"}
	headerTrue = []string{"true"}
)

var (
	bodyTrue  = []byte("true")
	bodyFalse = []byte("false")
	bodyNull  = []byte("null")
)

// head sends the status of the answer: of one that is not a success with its code and the node's number.
func (x *exchange) head(status int, code api.Code) {
	if code != "" {
		x.req.Line.Failed(code)
		h := x.w.Header()
		h[api.HeaderNode] = x.node
		h[api.HeaderError] = codeTexts[code]
	}
	x.begin(status)
	x.w.WriteHeader(status)
}

// begin notes that an answer begins, and names the master in it: all answers come by here. A success must have been
// decided about: no handler can forget to.
func (x *exchange) begin(status int) {
	if x.master != nil {
		if name := x.master.now(); name != nil {
			x.w.Header()[api.HeaderMaster] = name
		}
	}
	if status < http.StatusBadRequest {
		x.req.MustBeDecided()
	}
	x.status = status
}

// send answers with body, which is all of the answer.
func (x *exchange) send(status int, code api.Code, contentType []string, body []byte) {
	h := x.w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.head(status, code)
	_, _ = x.w.Write(body) // a client that has hung up learns nothing
}

// json answers 200 with a body that is JSON already.
func (x *exchange) json(body []byte) { x.send(http.StatusOK, "", jsonType, body) }

// marshalled answers 200 with v, one of our own plain types, as JSON.
func (x *exchange) marshalled(v any) { x.json(marshal(v)) }

// text answers 200 with a line of plain text.
func (x *exchange) text(line string) {
	x.w.Header()["X-Content-Type-Options"] = noSniff
	x.send(http.StatusOK, "", textType, []byte(line+"\n"))
}

// absent answers 404 with an empty body: Consul's clients tell a missing key by it.
func (x *exchange) absent(index uint64, meta service.ReadMeta) {
	x.req.MustBeDecided() // that there is none is an answer too
	setReadMeta(x.w.Header(), index, meta)
	x.head(http.StatusNotFound, api.CodeNotFound)
}

// fail answers with err: its code, and a line of plain text for people.
func (x *exchange) fail(err error) {
	h := x.w.Header()
	status, code := codeOf(err)
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
	case api.CodeNotApplied, api.CodeNotReady:
		// If all nodes say so, there will be no master, and to try again is no use.
		if x.drained() {
			h[api.HeaderDrained] = headerTrue
		}
	}
	switch code {
	case api.CodeNotApplied:
		h[api.HeaderRetryAfter] = retryNow
	case api.CodeOverloaded, api.CodeNotReady:
		h[api.HeaderRetryAfter] = retryLater
		var fast *service.TooFastError
		if errors.As(err, &fast) {
			setRetryAfter(h, fast.Retry)
		}
	case api.CodeQuarantine:
		var silent *service.LeaseSilentError
		errors.As(err, &silent)
		setRetryAfter(h, silent.Begins)
	}
	h["X-Content-Type-Options"] = noSniff
	x.send(status, code, textType, []byte(err.Error()+"\n"))
}

// setRetryAfter says that the request should come again after d.
func setRetryAfter(h http.Header, d time.Duration) {
	h[api.HeaderRetryAfter] = wholeSeconds(d)
	h[api.HeaderRetryAfterMS] = []string{strconv.FormatInt(roundedUp(d).Milliseconds(), 10)}
}

// codeTexts holds each code as the value of its header.
var codeTexts = func() map[api.Code][]string {
	texts := make(map[api.Code][]string)
	for _, c := range api.Codes() {
		texts[c] = []string{string(c)}
	}
	return texts
}()

// marshal returns v as JSON. v is one of our own plain types, which can always be written so.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// durationText writes d in whole milliseconds, rounded up.
func durationText(d time.Duration) string { return roundedUp(d).String() }

func roundedUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// wholeSeconds returns d as the value of a Retry-After, rounded up.
func wholeSeconds(d time.Duration) []string {
	return []string{strconv.Itoa(int(math.Ceil(d.Seconds())))}
}

// byteCount writes a limit as people give it.
func byteCount(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " bytes"
}
