package web

import (
	"fmt"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// An index above the store's revision was given by another store. A query with it is answered at once with what there
// is, whose index is lower, in every read mode.
func TestQueriesWithAnIndexOfAnotherStore(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v", "other", "")
	s := newServer(t, f)
	for _, mode := range []string{"", "&stale", "&consistent"} {
		for target, want := range map[string]struct {
			code  int
			index string
		}{
			"/v1/kv/k?": {200, "2"}, "/v1/kv/k?raw&": {200, "2"}, "/v1/kv/none?": {404, "3"}, "/v1/kv/k?recurse&": {200, "2"},
			"/v1/kv/none?recurse&": {404, "3"}, "/v1/kv/?keys&": {200, "3"}, "/v1/kv/?count&": {200, "3"},
			"/v1/session/list?": {200, "1"}, "/v1/session/node/n?": {200, "1"},
			"/v1/session/info/11111111-2222-3333-4444-555555555555?": {200, "1"},
		} {
			for _, index := range []string{"4", "18446744073709551615"} {
				w := ask(t, s, target+"wait=10m&index="+index+mode).get(t)
				if w.Code != want.code || head(w, api.HeaderIndex) != want.index || head(w, api.HeaderRevision) != "3" {
					t.Errorf("%s of %s: %d, index %s", target+mode, index, w.Code, head(w, api.HeaderIndex))
				}
			}
		}
	}
}

// A query whose index this node has not applied yet waits, if the others have.
func TestAQueryAtANodeThatLagsWaits(t *testing.T) {
	for _, mode := range []string{"", "&stale", "&consistent"} {
		f := newFake(t)
		f.set(t, "k", "1", "other", "")
		s := newServer(t, f)
		f.catchUp = func() { // what the others had applied
			f.mu.Unlock()
			f.set(t, "other", "")
			f.mu.Lock()
		}
		a := ask(t, s, "/v1/kv/k?wait=10m&index=4"+mode)
		if len(a.answer) > 0 {
			t.Fatalf("%q: did not wait: %s", mode, a.get(t).Body)
		}
		f.set(t, "k", "2")
		if w := a.get(t); w.Code != 200 || head(w, api.HeaderIndex) != "5" {
			t.Errorf("%q: %d, index %s", mode, w.Code, head(w, api.HeaderIndex))
		}
		if f.caughtUp != 1 {
			t.Errorf("%q: asked the master %d times", mode, f.caughtUp)
		}
	}
}

// Without a master an index above the applied revision cannot be assigned to this store or another. A query that needs
// the master fails as without an index. A stale one waits, and decides when it is woken.
func TestAnUnknownIndexWithoutAMaster(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "1", "other", "")
	s := newServer(t, f)
	noMaster := fmt.Errorf("%w: no master", service.ErrNotApplied)
	f.readErr = noMaster
	for _, target := range []string{"/v1/kv/k?index=4", "/v1/kv/k?index=4&consistent", "/v1/watch?index=4"} {
		if w := call(s, "HEAD", target, ""); w.Code != 503 || code(w) != api.CodeNotApplied {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	f.readErr = nil
	b := &noCatchUp{fake: f, err: noMaster}
	cfg := testConfig()
	cfg.Hub = f.hub
	s, err := New(cfg, service.FrontOf(b))
	if err != nil {
		t.Fatal(err)
	}
	a := ask(t, s, "/v1/kv/k?index=100&stale")
	if len(a.answer) > 0 {
		t.Fatalf("did not wait: %s", a.get(t).Body)
	}
	f.mu.Lock()
	b.err = nil
	f.mu.Unlock()
	f.set(t, "k", "2")
	if w := a.get(t); w.Code != 200 || head(w, api.HeaderIndex) != "4" {
		t.Errorf("%d, index %s", w.Code, head(w, api.HeaderIndex))
	}
}

func TestStreamsBehindAnIndexOfAnotherStore(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	addr := serve(t, s)
	f.set(t, "a", "x", "b", "")
	for _, r := range []*reader{
		openWatch(t, addr, "?index=4"), openWatch(t, addr, "?prefix=a&index=18446744073709551615"),
		openWatch(t, addr, "?prefix=none&index=1", "Last-Event-ID: 900"),
	} {
		r.want(`event: compacted|data: {"Index":3}|id: 3`)
	}
	r := openWatch(t, addr, "?prefix=a&index=4")
	r.want(`event: compacted|data: {"Index":3}|id: 3`)
	f.set(t, "a", "y") // it has the index that the client named
	r.want(setEvent("a", `"eQ=="`, 2, 4) + "|id: 4")

	f.catchUp = func() { // another node had given the index
		f.mu.Unlock()
		f.set(t, "b", "")
		f.mu.Lock()
	}
	openWatch(t, addr, "?index=5").want("id: 5")
}

// A new store is at revision 1 though it has no change of that revision.
func TestTheIndexOfAnEmptyStoreIsItsOwn(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	addr := serve(t, s)
	openWatch(t, addr, "?index=1").want("id: 1")
	openWatch(t, addr, "?index=2").want(`event: compacted|data: {"Index":1}|id: 1`)
	if a := ask(t, s, "/v1/kv/k?index=1"); len(a.answer) > 0 {
		t.Errorf("did not wait: %d", a.get(t).Code)
	} else {
		f.set(t, "k", "v")
		a.get(t)
	}
}

// A stale query whose index nobody can assign to a store waits no longer than it is to.
func TestAnUnknownIndexTakesNoLongerThanTheWait(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "1")
	cfg := testConfig()
	cfg.Hub = f.hub
	s, err := New(cfg, service.FrontOf(&noCatchUp{fake: f, err: service.ErrNotApplied, waits: true}))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w := call(s, "GET", "/v1/kv/k?index=100&stale&wait=300ms", "")
	if took := time.Since(began); w.Code != 200 || took > 550*time.Millisecond {
		t.Errorf("%d after %v", w.Code, took)
	}
}

// noCatchUp is a node that cannot reach the master.
type noCatchUp struct {
	*fake
	err   error
	waits bool // it takes the whole of its time to find out
}

func (b *noCatchUp) CatchUp(timeout time.Duration) (uint64, error) {
	if b.waits {
		time.Sleep(timeout)
	}
	revision, err := b.fake.CatchUp(timeout)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		err = b.err
	}
	return revision, err
}

// A restore begins above every index that the old cluster gave, and some of what those indexes stood for is lost. Each
// query is answered at once, and the next one, with the index of the answer, waits.
func TestIndexesFromBeforeARestore(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v", "other", "")
	if err := f.state.Jump(1000, 500); err != nil {
		t.Fatal(err)
	}
	f.slot = f.state.Applied()
	f.hub.Begin(f.state.Revision())
	s := newServer(t, f)
	for target, index := range map[string]string{
		"/v1/kv/k?": "2", "/v1/kv/none?": "504", "/v1/kv/k?recurse&": "504", "/v1/kv/none?recurse&": "504",
		"/v1/kv/?keys&":     "504",
		"/v1/session/list?": "504",
	} {
		w := ask(t, s, target+"wait=10m&index=40").get(t) // 3 was restored; 4 to 40 are lost
		if head(w, api.HeaderIndex) != index {
			t.Errorf("%s: index %s, want %s", target, head(w, api.HeaderIndex), index)
		}
		if a := ask(t, s, target+"wait=10m&index="+index); len(a.answer) > 0 {
			t.Errorf("%s of %s: did not wait", target, index)
		}
	}
	addr := serve(t, s)
	openWatch(t, addr, "?prefix=k&index=40").want(`event: compacted|data: {"Index":504}|id: 504`)
	openWatch(t, addr, "?index=504").want("id: 504")
	s.EndWaits()
	waitFor(t, func() bool { return s.metrics.waiting.Load() == 0 })
}
