package web

import (
	"fmt"
	"strings"
	"testing"

	"tenure/kv"
	"tenure/server/watch"
)

// A stream of everything that is resumed beyond the history has missed sessions, too; one of a prefix has not.
func TestWatchBeyondTheHistoryOfSessions(t *testing.T) {
	f := newFake(t)
	f.hub = watch.New(watch.Limits{Waiting: 100, Events: 4, Bytes: 1 << 20})
	f.hub.Begin(0)
	f.state.Observe(kv.Observer{Changed: f.hub.Changed})
	addr := serve(t, newServer(t, f))
	f.set(t, "a", "1", "b", "1")
	for range 10 {
		f.apply(t, kv.Command{Op: kv.OpPrune, Key: "none"})
	}
	for i := range 10 {
		f.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: fmt.Sprintf("8a3f2c60-9d5e-4b1a-8f27-0c6d1e5b7a%02d", i)}})
	}
	at := f.state.Revision()
	openWatch(t, addr, "?index=3").want(fmt.Sprintf(`event: compacted|data: {"Index":%d}|id: %d`, at, at))
	openWatch(t, addr, "?prefix=a&index=3").want(fmt.Sprintf("id: %d", at))
}

// A session that the node measures no time of has all of its TTL yet, as far as the node knows.
func TestDetailsOfASessionWithoutATime(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	create(t, s, `{"TTL":"17s"}`)
	if w := call(s, "GET", "/v1/session/list?details", ""); strings.Count(w.Body.String(), `"17s"`) != 2 {
		t.Error(w.Body)
	}
}
