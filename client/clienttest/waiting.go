package clienttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tenure/api"
)

// heartbeat is how often a stream says that it is there.
const heartbeat = 15 * time.Second

// news wakes requests that wait.
type news struct {
	next chan struct{} // closed and replaced with every change
}

// wake wakes whoever waits.
func (n *news) wake() {
	close(n.next)
	n.next = make(chan struct{})
}

// index is the X-Consul-Index of a read.
func (s *store) index(key string, q url.Values) uint64 {
	newest, there := uint64(0), false
	tree := q.Has(api.QueryRecurse) || q.Has(api.QueryKeys) || q.Has(api.QueryCount)
	for _, k := range s.keys(key) {
		if tree || k == key {
			newest, there = max(newest, s.entries[k].ModifyIndex), true
		}
	}
	if !there {
		return max(1, s.revision)
	}
	if tree {
		newest = max(newest, s.newest(key, tree))
	}
	return max(1, newest)
}

// newest is the newest change of a key, or under a prefix.
func (s *store) newest(key string, tree bool) uint64 {
	for i := len(s.changes) - 1; i >= 0; i-- {
		x := s.changes[i]
		if x.session == "" && (x.key == key || tree && strings.HasPrefix(x.key, key)) {
			return x.revision
		}
	}
	return 0
}

// wait serves a stream, or a read or a busy lease once there is news or its time is over.
func (c *Cluster) wait(w http.ResponseWriter, r *http.Request, body []byte) func() {
	switch {
	case r.URL.Path == api.PathWatch:
		return func() { c.stream(w, r) }
	case strings.HasPrefix(r.URL.Path, api.PathLease):
		return c.awaitLease(w, r, body)
	}
	q := r.URL.Query()
	index, key := number(q, api.QueryIndex), strings.TrimPrefix(r.URL.Path, api.PathKV)
	d, err := time.ParseDuration(q.Get(api.QueryWait))
	if err != nil {
		d = 5 * time.Minute
	}
	tree := q.Has(api.QueryRecurse) || q.Has(api.QueryKeys)
	end := time.Now().Add(d)
	for {
		c.mu.Lock()
		c.sweep()
		ofAnotherStore := index > c.store.revision
		if index == 0 || ofAnotherStore || c.store.newest(key, tree) > index || !time.Now().Before(end) {
			defer c.mu.Unlock()
			return c.read(w, r)
		}
		changed, until := c.news.next, c.store.until(end)
		c.mu.Unlock()
		if !await(r, changed, until) {
			panic(http.ErrAbortHandler)
		}
	}
}

// until is end, or when something ends by itself, if that is earlier.
func (s *store) until(end time.Time) time.Time {
	if t, ok := s.next(); ok && t.Before(end) {
		return t
	}
	return end
}

// await waits for a change or for t, and tells whether the client is still there.
func await(r *http.Request, changed chan struct{}, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-r.Context().Done():
		return false
	}
	return true
}

// stream sends the changes behind `index`.
func (c *Cluster) stream(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	after, prefix := number(q, api.QueryIndex), q.Get(api.QueryPrefix)
	w.Header().Set("Content-Type", "text/event-stream")
	c.mu.Lock()
	stores := c.stores
	if after < c.forgot || after > c.store.revision {
		after = c.store.revision
		fmt.Fprintf(w, "event: compacted\ndata: {\"Index\":%d}\n", after)
	}
	c.mu.Unlock()
	fmt.Fprintf(w, "id: %d\n\n", after)
	beat := time.Now().Add(heartbeat)
	for {
		c.mu.Lock()
		c.sweep()
		list := c.store.events(prefix, after)
		after = max(after, c.store.revision)
		if len(list) == 0 && !time.Now().Before(beat) {
			list = []string{fmt.Sprintf("id: %d\n\n", after)}
		}
		cut := c.cutAfter > 0 && c.cutAfter <= len(list)
		if c.stores != stores {
			list, cut = nil, true
		} else if cut {
			list = list[:c.cutAfter]
		}
		c.cutAfter = max(0, c.cutAfter-len(list))
		changed, until := c.news.next, c.store.until(beat)
		c.mu.Unlock()
		if len(list) > 0 {
			beat = time.Now().Add(heartbeat)
		}
		_, _ = w.Write([]byte(strings.Join(list, "")))
		_ = http.NewResponseController(w).Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
		if len(list) == 0 && !await(r, changed, until) || r.Context().Err() != nil {
			return
		}
	}
}

// events are those behind after, as a stream has them.
func (s *store) events(prefix string, after uint64) []string {
	var list []change
	for _, x := range s.changes {
		if x.revision > after && (x.session != "" && prefix == "" || x.session == "" && strings.HasPrefix(x.key, prefix)) {
			list = append(list, x)
		}
	}
	var out []string
	for i, x := range list {
		name, data := "delete", any(map[string]any{"Key": x.key, "ModifyIndex": x.revision})
		if x.session != "" {
			name, data = "session", map[string]any{"Session": x.session, "ModifyIndex": x.revision}
		} else if x.entry != nil {
			name, data = "set", *x.entry
		}
		text, err := json.Marshal(data)
		if err != nil {
			panic("clienttest: " + err.Error())
		}
		event := fmt.Sprintf("event: %s\ndata: %s\n", name, text)
		if i+1 == len(list) || list[i+1].revision != x.revision {
			event += fmt.Sprintf("id: %d\n", x.revision)
		}
		out = append(out, event+"\n")
	}
	return out
}
