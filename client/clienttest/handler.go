package clienttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
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

// The faults. "Applied" ones happen after a write was applied, the others instead.
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

func (f Fault) applies() bool {
	return f == None || f == Slow || f == UnknownApplied || f == DropApplied || f == HangApplied
}

// Handler is the node's HTTP API.
func (n *Node) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
		if err != nil {
			return
		}
		n.cluster.mu.Lock()
		faults, words := n.cluster.faults, n.cluster.words
		n.cluster.mu.Unlock()
		if words != nil {
			w = &reworded{ResponseWriter: w, words: words}
		}
		f := faults(n.about(r))
		answer := func() {}
		switch f {
		case Late:
			<-r.Context().Done()
			n.cluster.serve(n, w, r, body)
		case Partitioned:
			answer = partitioned(w, r, body)
		}
		if f.applies() {
			answer = n.cluster.serve(n, w, r, body)
			if answer == nil && (f == None || f == Slow) {
				answer = n.cluster.wait(w, r, body)
			}
		}
		f.show(w, r, answer)
	})
}

// about returns what a fault, or what a token may, depends on.
func (n *Node) about(r *http.Request) Request {
	return Request{
		Node: n.ID, Method: r.Method, Path: r.URL.Path, Key: r.Header.Get(api.HeaderIdempotencyKey),
		Base: r.Header.Get(api.HeaderBase), Timeout: r.Header.Get(api.HeaderTimeoutMS),
		Stale: r.URL.Query().Has(api.QueryStale),
	}
}

func (f Fault) show(w http.ResponseWriter, r *http.Request, answer func()) {
	switch f {
	case None, Partitioned:
		answer()
	case Slow:
		late := time.NewTimer(time.Second)
		defer late.Stop()
		select {
		case <-late.C:
			answer()
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	case Busy:
		refuse(w, http.StatusServiceUnavailable, api.CodeNotApplied, "not applied: injected: try again")()
	case BusyLater:
		w.Header().Set(api.HeaderRetryAfter, "1")
		refuse(w, http.StatusServiceUnavailable, api.CodeNotApplied, "not applied: injected: try again")()
	case NoSpace:
		refuse(w, http.StatusInsufficientStorage, api.CodeNoSpace, "no space: injected")()
	case TooLarge:
		refuse(w, http.StatusRequestEntityTooLarge, api.CodeTooLarge, "value too large: injected")()
	case Unknown, UnknownApplied:
		refuse(w, http.StatusGatewayTimeout, api.CodeUnknown, "outcome unknown: injected")()
	case Hang, HangApplied:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case Garbage:
		_, _ = io.WriteString(w, "<html>")
	default:
		panic(http.ErrAbortHandler)
	}
}

// serve does what is asked and returns what sends the answer; nil if it must wait first.
func (c *Cluster) serve(n *Node, w http.ResponseWriter, r *http.Request, body []byte) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	path := r.URL.Path
	if id := r.Header.Get(api.HeaderCluster); id != "" && id != c.id {
		return refuse(w, http.StatusMisdirectedRequest, api.CodeOtherCluster, "it is for the cluster "+strconv.Quote(id))
	}
	if name := unknownName(r); name != "" {
		return refuse(w, 400, api.CodeInvalid, "unknown query name "+strconv.Quote(name))
	}
	if code, text := c.acls.refuses(r, n.about(r)); code != "" {
		return refuse(w, http.StatusForbidden, code, text)
	}
	switch {
	case path == api.PathStatus:
		return sendJSON(w, c.status(n))
	case path == api.PathTransfer && r.Method == http.MethodPost:
		return c.transfer(w, body)
	case path == api.PathMembers && r.Method == http.MethodGet:
		return sendJSON(w, c.listMembers(n))
	case strings.HasPrefix(path, api.PathMembers+"/") && r.Method == http.MethodPost:
		return c.changeMembers(w, r, body)
	case path == api.PathLeases && r.Method == http.MethodGet:
		return sendJSON(w, c.leases.list(r.URL.Query(), n.ID, uint64(len(c.nodes))))
	case path == api.PathLeasesRenew, strings.HasPrefix(path, api.PathLease):
		return c.lease(w, r, body)
	case path == api.PathWatch, r.Method == http.MethodGet && r.URL.Query().Get(api.QueryIndex) != "":
		return nil
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return c.read(w, r)
	case strings.HasPrefix(path, api.PathKV), strings.HasPrefix(path, api.PathSession), path == api.PathTxn,
		strings.HasPrefix(path, api.PathFence), strings.HasPrefix(path, api.PathACL):
		return c.write(w, r, body)
	}
	return refuse(w, 404, api.CodeInvalid, "no such endpoint")
}

func (c *Cluster) transfer(w http.ResponseWriter, body []byte) func() {
	var to struct{ Node uint64 }
	if decode(body, &to) != nil {
		return refuse(w, 400, api.CodeInvalid, "bad JSON")
	}
	if to.Node == 0 {
		to.Node = c.master%uint64(len(c.nodes)) + 1
	}
	if to.Node > uint64(len(c.nodes)) {
		return refuse(w, 400, api.CodeInvalid, fmt.Sprintf("node %d is not a member: nothing was changed", to.Node))
	}
	c.master = to.Node
	c.epoch++
	return sendText(w, "true")
}

func (c *Cluster) write(w http.ResponseWriter, r *http.Request, body []byte) func() {
	defer c.tell(c.store.revision)
	if id, ok := strings.CutPrefix(r.URL.Path, api.PathSession+"renew/"); ok {
		list := c.store.renew(id)
		if len(list) == 0 {
			return refuse(w, 404, api.CodeNoSession, "Session id '"+id+"' not found")
		}
		return sendJSON(w, list)
	}
	key := r.Header.Get(api.HeaderIdempotencyKey)
	base, err := strconv.ParseUint(r.Header.Get(api.HeaderBase), 10, 64)
	if key == "" && c.plain {
		c.drawn++
		key, base, err = fmt.Sprintf("drawn here %d", c.drawn), c.store.revision, nil
	}
	if key == "" || err != nil {
		return refuse(w, 400, api.CodeInvalid, "Idempotency-Key or X-Tenure-Base is missing: the client always sends both")
	}
	request := r.Method + " " + r.URL.String() + "\n" + string(body)
	o := c.writes.once(request, key, base, func() reply { return c.writes.apply(r, body) })
	w.Header().Set(api.HeaderRevision, strconv.FormatUint(o.revision, 10))
	if r.Method == http.MethodDelete && r.URL.Query().Has(api.QueryRecurse) {
		w.Header().Set(api.HeaderCount, strconv.FormatUint(o.count, 10))
	}
	if o.code != "" {
		return refuse(w, o.status, o.code, o.body)
	}
	return sendText(w, o.body)
}

func (c *Cluster) read(w http.ResponseWriter, r *http.Request) func() {
	q := r.URL.Query()
	h := w.Header()
	h.Set(api.HeaderIndex, strconv.FormatUint(max(1, c.store.revision), 10))
	h.Set(api.HeaderRevision, strconv.FormatUint(c.store.revision, 10))
	h.Set(api.HeaderLastContact, "0")
	h.Set(api.HeaderKnownLeader, strconv.FormatBool(c.master != 0))
	if q.Has(api.QueryStale) {
		h.Set(api.HeaderLastContact, "70")
	}
	if what, ok := strings.CutPrefix(r.URL.Path, api.PathSession); ok {
		return sendJSON(w, c.store.listSessions(what, q.Has(api.QueryDetails)))
	}
	if name, ok := strings.CutPrefix(r.URL.Path, api.PathFence); ok {
		return sendJSON(w, c.fences.show(name))
	}
	if strings.HasPrefix(r.URL.Path, api.PathACL) {
		return c.acls.read(w, r)
	}
	key, ok := strings.CutPrefix(r.URL.Path, api.PathKV)
	if !ok {
		return refuse(w, 404, api.CodeInvalid, "no such endpoint")
	}
	h.Set(api.HeaderIndex, strconv.FormatUint(c.store.index(key, q), 10))
	if !q.Has(api.QueryRecurse) && !q.Has(api.QueryKeys) && !q.Has(api.QueryCount) {
		e, ok := c.store.entries[key]
		if !ok {
			return refuse(w, 404, api.CodeNotFound, "")
		}
		return sendJSON(w, []any{c.store.show(e)})
	}
	keys := c.store.keys(key)
	if q.Has(api.QueryCount) {
		return sendJSON(w, len(keys))
	}
	keys = page(keys, key, q.Get(api.QuerySeparator), q.Get(api.QueryStart), q.Get(api.QueryLimit), q.Has("reverse"))
	if len(keys) == 0 && !(q.Has(api.QueryKeys) && key == "") {
		return refuse(w, 404, api.CodeNotFound, "")
	}
	if q.Has(api.QueryKeys) {
		return sendJSON(w, append([]string{}, keys...))
	}
	entries := []any{}
	for _, k := range keys {
		entries = append(entries, c.store.show(c.store.entries[k]))
	}
	return sendJSON(w, entries)
}

func page(keys []string, prefix, separator, start, limit string, reverse bool) []string {
	var out []string
	for _, k := range keys {
		if i := strings.Index(k[len(prefix):], separator); separator != "" && i >= 0 {
			k = k[:len(prefix)+i+len(separator)]
		}
		if start == "" || !reverse && k >= start || reverse && k <= start {
			out = append(out, k)
		}
	}
	out = slices.Compact(out)
	if reverse {
		slices.Reverse(out)
	}
	if n, err := strconv.Atoi(limit); err == nil && n < len(out) {
		out = out[:n]
	}
	return out
}

func sendJSON(w http.ResponseWriter, v any) func() { return sendText(w, string(encode(v))) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("clienttest: " + err.Error())
	}
	return b
}

// sendText sends an answer of 200.
func sendText(w http.ResponseWriter, text string) func() {
	return func() { _, _ = io.WriteString(w, text) }
}

// refuse sends an answer that is not a success.
func refuse(w http.ResponseWriter, status int, code api.Code, text string) func() {
	return func() {
		w.Header().Set(api.HeaderNode, "1") // that it is there is what counts
		w.Header().Set(api.HeaderError, string(code))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// reworded replaces the texts of refusals, but not what clients decode.
type reworded struct {
	http.ResponseWriter
	words  func(string) string
	refuse bool
}

func (w *reworded) WriteHeader(status int) {
	code := api.Code(w.Header().Get(api.HeaderError))
	w.refuse = status != http.StatusOK && code != api.CodeBusy && code != api.CodeCondition
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
