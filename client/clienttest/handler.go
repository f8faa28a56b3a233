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
	return r.Method == http.MethodPut || r.Method == http.MethodDelete || r.Method == http.MethodPost && r.Path != transferPath
}

// Fault is what goes wrong with a request.
type Fault int

// The faults. "Applied" ones happen after a write was applied, the others instead.
const (
	None           Fault = iota
	Busy                 // 503
	BusyLater            // 503, Retry-After: 1
	NoRoom               // 507
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
		faults := n.cluster.faults
		n.cluster.mu.Unlock()
		f := faults(Request{
			Node: n.ID, Method: r.Method, Path: r.URL.Path, Key: r.Header.Get("Idempotency-Key"),
			Base: r.Header.Get("X-Tenure-Base"), Timeout: r.Header.Get("X-Tenure-Timeout-Ms"),
			Stale: r.URL.Query().Has("stale"),
		})
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
		sendText(w, http.StatusServiceUnavailable, "not applied: injected: try again")()
	case BusyLater:
		w.Header().Set("Retry-After", "1")
		sendText(w, http.StatusServiceUnavailable, "not applied: injected: try again")()
	case NoRoom:
		sendText(w, http.StatusInsufficientStorage, "no room: injected")()
	case TooLarge:
		sendText(w, http.StatusRequestEntityTooLarge, "value too large: injected")()
	case Unknown, UnknownApplied:
		sendText(w, http.StatusGatewayTimeout, "outcome unknown: injected")()
	case Hang, HangApplied:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case Garbage:
		_, _ = io.WriteString(w, "<html>")
	default:
		panic(http.ErrAbortHandler)
	}
}

const (
	kvPath       = "/v1/kv/"
	transferPath = "/v1/master/transfer"
	txnPath      = "/v1/txn"
	sessionPath  = "/v1/session/"
	watchPath    = "/v1/watch"
	leasePath    = "/v1/lease/"
	leasesPath   = "/v1/leases/renew"
	leaseList    = "/v1/leases"
)

// serve does what is asked and returns what sends the answer; nil if it must wait first.
func (c *Cluster) serve(n *Node, w http.ResponseWriter, r *http.Request, body []byte) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	path := r.URL.Path
	if name := unknownName(r); name != "" {
		return sendText(w, 400, "unknown query name "+strconv.Quote(name))
	}
	switch {
	case path == "/v1/status":
		return sendJSON(w, 200, c.status(n))
	case path == transferPath && r.Method == http.MethodPost:
		return c.transfer(w, body)
	case path == leaseList && r.Method == http.MethodGet:
		return c.listLeases(w, n, r.URL.Query())
	case path == leasesPath, strings.HasPrefix(path, leasePath):
		return c.lease(w, r, body)
	case path == watchPath, r.Method == http.MethodGet && r.URL.Query().Get("index") != "":
		return nil
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		return c.read(w, r)
	case strings.HasPrefix(path, kvPath), strings.HasPrefix(path, sessionPath), path == txnPath:
		return c.write(w, r, body)
	}
	return sendText(w, 404, "no such endpoint")
}

func (c *Cluster) transfer(w http.ResponseWriter, body []byte) func() {
	var to struct{ Node uint64 }
	if decode(body, &to) != nil {
		return sendText(w, 400, "bad JSON")
	}
	if to.Node == 0 {
		to.Node = c.master%uint64(len(c.nodes)) + 1
	}
	if to.Node > uint64(len(c.nodes)) {
		return sendText(w, 400, fmt.Sprintf("node %d is not a member: nothing was changed", to.Node))
	}
	c.master = to.Node
	c.epoch++
	return sendText(w, 200, "true")
}

func (c *Cluster) write(w http.ResponseWriter, r *http.Request, body []byte) func() {
	defer c.tell(c.store.revision)
	if id, ok := strings.CutPrefix(r.URL.Path, sessionPath+"renew/"); ok {
		list := c.store.renew(id)
		if len(list) == 0 {
			return sendText(w, 404, "Session id '"+id+"' not found")
		}
		return sendJSON(w, 200, list)
	}
	key := r.Header.Get("Idempotency-Key")
	base, err := strconv.ParseUint(r.Header.Get("X-Tenure-Base"), 10, 64)
	if key == "" && c.plain {
		c.drawn++
		key, base, err = fmt.Sprintf("drawn here %d", c.drawn), c.store.revision, nil
	}
	if key == "" || err != nil {
		return sendText(w, 400, "Idempotency-Key or X-Tenure-Base is missing: the client always sends both")
	}
	o := c.once(r.Method+" "+r.URL.String()+"\n"+string(body), key, base, func() reply { return c.apply(r, body) })
	w.Header().Set("X-Tenure-Index", strconv.FormatUint(o.revision, 10))
	if r.Method == http.MethodDelete && r.URL.Query().Has("recurse") {
		w.Header().Set("X-Tenure-Count", strconv.FormatUint(o.count, 10))
	}
	return sendText(w, o.status, o.body)
}

func (c *Cluster) read(w http.ResponseWriter, r *http.Request) func() {
	q := r.URL.Query()
	h := w.Header()
	h.Set("X-Consul-Index", strconv.FormatUint(max(1, c.store.revision), 10))
	h.Set("X-Tenure-Index", strconv.FormatUint(c.store.revision, 10))
	h.Set("X-Consul-Lastcontact", "0")
	h.Set("X-Consul-Knownleader", strconv.FormatBool(c.master != 0))
	if q.Has("stale") {
		h.Set("X-Consul-Lastcontact", "70")
	}
	if what, ok := strings.CutPrefix(r.URL.Path, sessionPath); ok {
		return sendJSON(w, 200, c.store.listSessions(what, q.Has("details")))
	}
	key, ok := strings.CutPrefix(r.URL.Path, kvPath)
	if !ok {
		return sendText(w, 404, "no such endpoint")
	}
	h.Set("X-Consul-Index", strconv.FormatUint(c.index(key, q), 10))
	if !q.Has("recurse") && !q.Has("keys") && !q.Has("count") {
		e, ok := c.store.entries[key]
		if !ok {
			return func() { w.WriteHeader(404) }
		}
		return sendJSON(w, 200, []any{c.store.show(e)})
	}
	keys := c.store.keys(key)
	if q.Has("count") {
		return sendJSON(w, 200, len(keys))
	}
	keys = page(keys, key, q.Get("separator"), q.Get("start"), q.Get("limit"), q.Has("reverse"))
	if len(keys) == 0 && !(q.Has("keys") && key == "") {
		return func() { w.WriteHeader(404) }
	}
	if q.Has("keys") {
		return sendJSON(w, 200, append([]string{}, keys...))
	}
	entries := []any{}
	for _, k := range keys {
		entries = append(entries, c.store.show(c.store.entries[k]))
	}
	return sendJSON(w, 200, entries)
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

func sendJSON(w http.ResponseWriter, status int, v any) func() {
	b, err := json.Marshal(v)
	if err != nil {
		panic("clienttest: " + err.Error())
	}
	return sendText(w, status, string(b))
}

func sendText(w http.ResponseWriter, status int, text string) func() {
	return func() {
		if status != http.StatusOK {
			w.Header().Set("X-Tenure-Node", "1") // that it is there is what counts
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}
