package clienttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"tenure/api"
)

// Request is what an injected fault may depend on.
type Request struct {
	Node   uint64
	Method string
	Path   string
	// What these headers say: Idempotency-Key, X-Tenure-Base, X-Tenure-Timeout-Ms.
	Key, Base, Timeout string
	// Stale tells whether any node may answer, whatever it knows of the master.
	Stale bool
}

// IsWrite tells whether the request changes something.
func (r Request) IsWrite() bool {
	return r.Method == http.MethodPut || r.Method == http.MethodDelete ||
		r.Method == http.MethodPost && r.Path != api.PathTransfer
}

// Fault is what goes wrong with a request.
type Fault int

// The faults. Those named Applied, Slow and Late happen to a request that is applied, the others instead of it.
const (
	None           Fault = iota
	Busy                 // 503
	BusyLater            // 503, Retry-After: 1
	NoSpace              // 507
	TooLarge             // 413
	Unknown              // 504
	UnknownApplied       // 504
	Drop                 // the connection is cut without an answer
	DropApplied          // the connection is cut without an answer
	Hang                 // no answer until the client gives up
	HangApplied          // no answer until the client gives up
	Garbage              // 200 with a body that means nothing
	Slow                 // the answer comes a second late
	Late                 // it is applied when the client has given up
	Partitioned          // 503, and a renewal of many leases tells of each that there is no quorum
)

// Handler is the node's HTTP API.
func (n *Node) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
		if err != nil {
			return
		}
		r.Body, r.Host = io.NopCloser(bytes.NewReader(body)), "localhost" // whatever name a test has for the node
		n.cluster.mu.Lock()
		faults, words := n.cluster.faults, n.cluster.words
		n.cluster.mu.Unlock()
		if words != nil {
			w = &reworded{ResponseWriter: w, words: words}
		}
		faults(n.about(r)).serve(n, w, r)
	})
}

// about returns what a fault may depend on.
func (n *Node) about(r *http.Request) Request {
	return Request{
		Node: n.ID, Method: r.Method, Path: r.URL.Path, Key: r.Header.Get(api.HeaderIdempotencyKey),
		Base: r.Header.Get(api.HeaderBase), Timeout: r.Header.Get(api.HeaderTimeoutMS),
		Stale: r.URL.Query().Has(api.QueryStale),
	}
}

// serve answers r as the fault has it.
func (f Fault) serve(n *Node, w http.ResponseWriter, r *http.Request) {
	unseen := httptest.NewRecorder()
	switch f {
	case UnknownApplied, DropApplied, HangApplied, Slow:
		n.answer(unseen, r)
	case Late:
		<-r.Context().Done()
		n.answer(unseen, r.WithContext(context.WithoutCancel(r.Context())))
	}
	switch f {
	case None:
		n.answer(w, r)
	case Partitioned:
		n.answerAlone(w, r)
	case Slow:
		late := time.NewTimer(time.Second)
		defer late.Stop()
		select {
		case <-late.C:
			maps.Copy(w.Header(), unseen.Header())
			w.WriteHeader(unseen.Code)
			_, _ = w.Write(unseen.Body.Bytes())
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	case Busy:
		refuse(w, http.StatusServiceUnavailable, api.CodeNotApplied, "not applied: injected: try again")
	case BusyLater:
		w.Header().Set(api.HeaderRetryAfter, "1")
		refuse(w, http.StatusServiceUnavailable, api.CodeNotApplied, "not applied: injected: try again")
	case NoSpace:
		refuse(w, http.StatusInsufficientStorage, api.CodeNoSpace, "no space: injected")
	case TooLarge:
		refuse(w, http.StatusRequestEntityTooLarge, api.CodeTooLarge, "value too large: injected")
	case Unknown, UnknownApplied:
		refuse(w, http.StatusGatewayTimeout, api.CodeUnknown, "outcome unknown: injected")
	case Hang, HangApplied:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case Garbage:
		_, _ = io.WriteString(w, "<html>")
	default:
		panic(http.ErrAbortHandler)
	}
}

// answer answers r as a real node does, but refuses a write that the client never sends, and cuts streams.
func (n *Node) answer(w http.ResponseWriter, r *http.Request) {
	c := n.cluster
	c.mu.Lock()
	server, plain := n.open, c.plain
	if c.guarded {
		server = n.guarded
	}
	c.leases.count(r)
	c.mu.Unlock()
	if h := r.Header; !plain && takesKey(r) && (h.Get(api.HeaderIdempotencyKey) == "" || h.Get(api.HeaderBase) == "") {
		refuse(w, 400, api.CodeInvalid, "Idempotency-Key or X-Tenure-Base is missing: the client always sends both")
		return
	}
	if r.URL.Path == api.PathWatch {
		s := &stream{ResponseWriter: w, cluster: c}
		defer s.end()
		w = s
	}
	server.ServeHTTP(w, r)
}

// answerAlone answers as a node that hears no other.
func (n *Node) answerAlone(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != api.PathLeasesRenew {
		refuse(w, 503, api.CodeNotApplied, "not applied: no quorum: injected")
		return
	}
	n.cluster.mu.Lock()
	server := n.partitioned
	n.cluster.mu.Unlock()
	server.ServeHTTP(w, r)
}

// takesKey reports whether r is a write to the log that the client sends with a key. A renewal needs none.
func takesKey(r *http.Request) bool {
	if r.Method != http.MethodPut && r.Method != http.MethodDelete && r.Method != http.MethodPost ||
		strings.HasPrefix(r.URL.Path, api.PathSession+"renew/") {
		return false
	}
	return slices.ContainsFunc([]string{api.PathKV, api.PathSession, api.PathTxn, api.PathFence, api.PathACL},
		func(p string) bool { return strings.HasPrefix(r.URL.Path, p) })
}

// stream is the answer to a watch. It is cut after the event that Cluster.CutAfter says.
type stream struct {
	http.ResponseWriter
	cluster *Cluster
	cut     bool
}

// Write writes the events in b, up to the last one that is to be sent.
func (s *stream) Write(b []byte) (int, error) {
	b = b[:s.sendable(b)]
	n, err := s.ResponseWriter.Write(b)
	if err == nil && s.cut {
		_ = http.NewResponseController(s.ResponseWriter).Flush()
		err = errCut
	}
	return n, err
}

// sendable counts the events in b, and returns how much of b may be sent.
func (s *stream) sendable(b []byte) int {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	sent := 0
	for s.cluster.cutAfter > 0 {
		end := bytes.Index(b[sent:], []byte("\n\n"))
		if end < 0 {
			break
		}
		event := bytes.HasPrefix(b[sent:], []byte("event: "))
		if sent += end + 2; event {
			s.cluster.cutAfter--
		}
		if s.cut = s.cluster.cutAfter == 0; s.cut {
			return sent
		}
	}
	return len(b)
}

var errCut = errors.New("the stream is cut")

// end ends the connection without the end of the answer, if the stream is cut.
func (s *stream) end() {
	if s.cut {
		panic(http.ErrAbortHandler)
	}
}

// Unwrap is for http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// refuse sends an answer that is not a success.
func refuse(w http.ResponseWriter, status int, code api.Code, text string) {
	w.Header().Set(api.HeaderNode, "1") // that it is there is what counts
	w.Header().Set(api.HeaderError, string(code))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// reworded replaces the texts of refusals, but not what clients decode.
type reworded struct {
	http.ResponseWriter
	words  func(string) string
	refuse bool
}

func (w *reworded) WriteHeader(status int) {
	code := api.Code(w.Header().Get(api.HeaderError))
	if w.refuse = status != http.StatusOK && code != api.CodeBusy && code != api.CodeCondition; w.refuse {
		w.Header().Del("Content-Length")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *reworded) Write(b []byte) (int, error) {
	if !w.refuse || len(b) == 0 {
		return w.ResponseWriter.Write(b)
	}
	_, err := io.WriteString(w.ResponseWriter, w.words(string(b)))
	return len(b), err
}

// Unwrap is for http.ResponseController.
func (w *reworded) Unwrap() http.ResponseWriter { return w.ResponseWriter }
