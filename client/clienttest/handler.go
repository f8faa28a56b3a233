package clienttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Request is what an injected fault may depend on.
type Request struct {
	Node   uint64
	Method string
	Path   string
	// What these headers say: Idempotency-Key, X-Tenure-Base, X-Tenure-Timeout-Ms.
	Key, Base, Timeout string
}

// IsWrite tells whether the request changes keys.
func (r Request) IsWrite() bool { return r.Method == http.MethodPut || r.Method == http.MethodDelete }

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
)

func (f Fault) applies() bool {
	return f == None || f == UnknownApplied || f == DropApplied || f == HangApplied
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
		})
		answer := func() {}
		if f.applies() {
			answer = n.cluster.serve(n, w, r, body)
		}
		f.show(w, r, answer)
	})
}

func (f Fault) show(w http.ResponseWriter, r *http.Request, answer func()) {
	switch f {
	case None:
		answer()
	case Busy:
		http.Error(w, "not applied: injected: try again", http.StatusServiceUnavailable)
	case BusyLater:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not applied: injected: try again", http.StatusServiceUnavailable)
	case NoRoom:
		http.Error(w, "no room: injected", http.StatusInsufficientStorage)
	case TooLarge:
		http.Error(w, "value too large: injected", http.StatusRequestEntityTooLarge)
	case Unknown, UnknownApplied:
		http.Error(w, "outcome unknown: injected", http.StatusGatewayTimeout)
	case Hang, HangApplied:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case Garbage:
		_, _ = io.WriteString(w, "<html>")
	default:
		panic(http.ErrAbortHandler)
	}
}

// serve does what is asked and returns what sends the answer.
func (c *Cluster) serve(n *Node, w http.ResponseWriter, r *http.Request, body []byte) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.URL.Path == "/v1/status":
		return sendJSON(w, 200, c.status(n))
	case r.URL.Path == "/v1/master/transfer" && r.Method == http.MethodPost:
		return c.transfer(w, body)
	case !strings.HasPrefix(r.URL.Path, "/v1/kv/"):
		return sendText(w, 404, "no such endpoint")
	case r.Method == http.MethodGet:
		return c.read(w, r)
	case r.Method == http.MethodPut, r.Method == http.MethodDelete:
		return c.write(w, r, body)
	}
	return sendText(w, 405, "method not allowed")
}

func (c *Cluster) transfer(w http.ResponseWriter, body []byte) func() {
	var to struct{ Node uint64 }
	if json.Unmarshal(body, &to) != nil {
		return sendText(w, 400, "bad JSON")
	}
	if to.Node == 0 {
		to.Node = c.master%uint64(len(c.nodes)) + 1
	}
	if to.Node > uint64(len(c.nodes)) {
		return sendText(w, 503, "not applied: no such node")
	}
	c.master = to.Node
	c.epoch++
	return sendText(w, 200, "true")
}

func (c *Cluster) write(w http.ResponseWriter, r *http.Request, body []byte) func() {
	q := r.URL.Query()
	x := command{op: "set", key: strings.TrimPrefix(r.URL.Path, "/v1/kv/"), value: string(body), cas: q.Has("cas")}
	x.index, _ = strconv.ParseUint(q.Get("cas"), 10, 64)
	x.flags, _ = strconv.ParseUint(q.Get("flags"), 10, 64)
	if r.Method == http.MethodDelete {
		x.op = "delete"
		if q.Has("recurse") {
			x.op = "prune"
		}
	}
	key := r.Header.Get("Idempotency-Key")
	base, err := strconv.ParseUint(r.Header.Get("X-Tenure-Base"), 10, 64)
	if key == "" && c.plain {
		c.drawn++
		key, base, err = fmt.Sprintf("drawn here %d", c.drawn), c.revision, nil
	}
	if key == "" || err != nil {
		return sendText(w, 400, "Idempotency-Key or X-Tenure-Base is missing: the client always sends both")
	}
	o := c.once(x, key, base)
	if o.status != 200 {
		return sendText(w, o.status, o.text)
	}
	w.Header().Set("X-Tenure-Index", strconv.FormatUint(o.revision, 10))
	if x.op == "prune" {
		w.Header().Set("X-Tenure-Count", strconv.FormatUint(o.count, 10))
	}
	return sendText(w, 200, strconv.FormatBool(o.done))
}

func (c *Cluster) read(w http.ResponseWriter, r *http.Request) func() {
	key, q := strings.TrimPrefix(r.URL.Path, "/v1/kv/"), r.URL.Query()
	w.Header().Set("X-Consul-Index", strconv.FormatUint(c.revision, 10))
	w.Header().Set("X-Consul-Lastcontact", "0")
	w.Header().Set("X-Consul-Knownleader", strconv.FormatBool(c.master != 0))
	if q.Has("stale") {
		w.Header().Set("X-Consul-Lastcontact", "70")
	}
	if !q.Has("recurse") && !q.Has("keys") && !q.Has("count") {
		e, ok := c.entries[key]
		if !ok {
			return func() { w.WriteHeader(404) }
		}
		w.Header().Set("X-Consul-Index", strconv.FormatUint(e.ModifyIndex, 10))
		return sendJSON(w, 200, []any{e})
	}
	keys := c.keys(key)
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
		entries = append(entries, c.entries[k])
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
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}
