package clienttest

import (
	"cmp"
	"fmt"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/watch"
)

// store is what all nodes share: the state that real nodes replicate, without its log. Cluster.mu guards it.
type store struct {
	state    *kv.State
	hub      *watch.Hub
	access   *access.Decider
	slot     uint64
	applied  int // commands that made a revision
	sessions int // that were created
	running  map[timed]*running
	wake     func() // called when a time has passed
}

// timed names something that ends by itself.
type timed struct {
	kind kv.TimedKind
	name string
}

// running is when it ends.
type running struct {
	arm   uint64
	at    time.Time
	timer *time.Timer
}

func newStore(wake func()) *store {
	state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	must(err)
	s := &store{state: state, hub: watch.New(watch.DefaultLimits), running: map[timed]*running{}, wake: wake}
	s.hub.Begin(0)
	s.access = access.New(access.Config{CatchUp: func(time.Duration) error { return nil }, Now: time.Now})
	s.access.Publish(state.ACL())
	state.Observe(kv.Observer{Changed: s.hub.Changed, Timed: s.time,
		ACL: func(uint64) { s.access.Publish(state.ACL()) }})
	s.must(kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel, Value: []byte("test")})
	return s
}

func must(err error) {
	if err != nil {
		panic("clienttest: " + err.Error())
	}
}

// apply applies c in a slot of its own.
func (s *store) apply(c kv.Command) kv.Result {
	if c.Op == kv.OpSessionCreate {
		s.sessions++
		c.Session.ID = numbered(s.sessions)
	}
	before := s.state.Revision()
	s.slot++
	results, err := s.state.Apply(s.slot, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
	must(err)
	if s.state.Revision() > before {
		s.applied++
	}
	return results[0]
}

// must applies c, which cannot fail.
func (s *store) must(c kv.Command) {
	if r := s.apply(c); r.Code != kv.CodeDone {
		panic(fmt.Sprintf("clienttest: command %d: %v", c.Op, r.Code))
	}
}

// numbered returns a UUID that tests can know beforehand.
func numbered(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// time is told what runs and what has ended.
func (s *store) time(t kv.Timed) {
	name := timed{t.Kind, t.Name}
	if old := s.running[name]; old != nil {
		old.timer.Stop()
		delete(s.running, name)
	}
	if t.After > 0 {
		s.running[name] = &running{t.Arm, time.Now().Add(t.After), time.AfterFunc(t.After, s.wake)}
	}
}

// sweep ends what has run out. Real nodes give sessions longer than their TTL.
func (s *store) sweep() {
	for {
		now, name, first := time.Now(), timed{}, (*running)(nil)
		for n, r := range s.running {
			if !now.Before(r.at) && (first == nil || r.at.Before(first.at) || r.at.Equal(first.at) && n.before(name)) {
				name, first = n, r
			}
		}
		if first == nil {
			return
		}
		first.timer.Stop()
		delete(s.running, name)
		s.apply(kv.Timed{Kind: name.kind, Name: name.name, Arm: first.arm}.End())
	}
}

func (t timed) before(o timed) bool { return t.kind < o.kind || t.kind == o.kind && t.name < o.name }

// RequireTokens makes requests need a token from now on, and adds policies, of which it takes the names and rules. As
// on real nodes the rules decide what a token may do, and a request without a token has that of api.AnonymousAccessor.
func (c *Cluster) RequireTokens(policies ...api.Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guarded = true
	for _, p := range policies {
		c.drawn++
		c.store.must(kv.PutPolicy(kv.Policy{ID: numbered(c.drawn), Name: p.Name, Rules: p.Rules}, true))
	}
}

// AddToken adds a token, without HTTP. Its secret is t.SecretID.
func (c *Cluster) AddToken(t api.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawn++
	made := kv.Token{Accessor: cmp.Or(t.AccessorID, numbered(c.drawn)), Secret: kv.HashSecret(t.SecretID), Name: t.Name,
		Description: t.Description, Certificate: t.Certificate, Created: time.Now().UnixNano()}
	for _, p := range t.Policies {
		made.Policies = append(made.Policies, cmp.Or(p.ID, p.Name))
	}
	c.store.must(kv.PutToken(made, true))
}

// RevokeToken deletes the token with that secret, without HTTP.
func (c *Cluster) RevokeToken(secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.store.state.ACL().TokenOfSecret(kv.HashSecret(secret)); ok {
		c.store.must(kv.DropToken(t.Accessor))
	}
}

// Applied returns how many commands made a revision, those of the test and ends of TTLs included.
func (c *Cluster) Applied() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.applied
}

// Revision returns the revision of the store.
func (c *Cluster) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.state.Revision()
}

// Forget drops all idempotency keys, as if many writes had come since.
func (c *Cluster) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	must(c.store.state.Jump(0, 0))
}

// Compact drops the history of changes. Streams that have not told all of it end, and say so.
func (c *Cluster) Compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.hub.Begin(c.store.state.Revision())
}

// Replace puts another, empty store in the place of this one, as if the nodes had begun anew at the same addresses. It
// ends every stream. Leases and members stay.
func (c *Cluster) Replace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store = newStore(c.store.wake)
	for _, n := range c.nodes {
		n.open.EndWaits()
		n.guarded.EndWaits()
		n.serve()
	}
}

// Value returns the value of a key, without HTTP.
func (c *Cluster) Value(key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok, err := c.store.state.Get(key)
	must(err)
	return string(e.Value), ok
}

// Set writes a key, without HTTP, and returns the revision.
func (c *Cluster) Set(key, value string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.must(kv.Command{Op: kv.OpSet, Key: key, Value: []byte(value)})
	return c.store.state.Revision()
}

// Delete deletes all keys that start with prefix, without HTTP.
func (c *Cluster) Delete(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.must(kv.Command{Op: kv.OpPrune, Key: prefix})
}

// Sessions returns the IDs of the live sessions.
func (c *Cluster) Sessions() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.sweep()
	view, err := c.store.state.Snapshot()
	must(err)
	defer view.Close()
	view.Sessions("", func(s kv.Session) bool {
		ids = append(ids, s.ID)
		return true
	})
	return ids
}

// EndSession ends a session, without HTTP, as if its TTL had passed.
func (c *Cluster) EndSession(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.must(kv.Command{Op: kv.OpSessionDestroy, Session: kv.Session{ID: id}})
}
