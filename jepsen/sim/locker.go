package sim

import (
	"fmt"
	"time"

	"tenure/kv"
	"tenure/server/replica"
)

// lockPlan is what the lockers of a run do.
type lockPlan struct {
	count int
	think time.Duration
	short time.Duration // shortest of the times that they give sessions, keys and lock-delays
	keyed int
}

// drawLockers draws from a stream of its own, as drawGuardian does.
func (p *plan) drawLockers(c Config) {
	r := stream(c.Seed, 8)
	p.lockers = lockPlan{count: r.below(4), think: r.skewed(2*time.Millisecond, 60*time.Millisecond),
		short: r.skewed(5*time.Millisecond, p.lease), keyed: pick(&r, 0, 500, 900)}
	if c.Clients > 0 {
		p.lockers.count = min(p.lockers.count, c.Clients)
	}
}

// locker is a client of everything that is not a register: sessions, locks, keys that expire, fences and transactions.
// What it does is judged by the oracle, and by all nodes being equal; so no history is kept of it.
type locker struct {
	c       *client
	session string
	serial  int
	token   uint64
	retries int
}

func (w *world) startLockers() {
	for i := range w.plan.lockers.count {
		c := &client{w: w, id: 300 + i, random: stream(w.cfg.Seed, 6000+uint64(i))}
		l := &locker{c: c}
		c.probing = l.answered
		c.at = w.nodes[c.random.below(len(w.nodes))]
		l.rest()
	}
}

func (l *locker) rest() {
	w := l.c.w
	d := l.c.random.skewed(50*time.Microsecond, w.plan.lockers.think)
	if w.phase == phaseStuck {
		d *= idleFactor
	}
	w.at(nil, kindClient, d, func() {
		if w.phase <= phaseSettling {
			l.next()
		}
	})
}

// next draws a command and asks for it.
func (l *locker) next() {
	c, r := l.c, &l.c.random
	if r.chance(300) {
		c.at = c.w.nodes[r.below(len(c.w.nodes))]
	}
	l.serial++
	l.retries = 0
	c.command = l.draw(r)
	if r.chance(c.w.plan.lockers.keyed) {
		c.command.IdemKey, c.command.Base = fmt.Sprintf("l%d/%d", c.id, l.serial), c.seen
	}
	l.ask()
}

func (l *locker) ask() {
	c, w := l.c, l.c.w
	w.nextID++
	c.attempt = w.nextID
	a := &attempt{client: c, serial: c.attempt, key: c.command.Key, command: kv.EncodeCommand(&c.command), keyed: c.command.IdemKey != ""}
	at := c.at
	w.reach(at, w.network.skewed(w.plan.hop, w.plan.clientHop), func() { a.arrive(at, w.plan.clients.patience) })
}

// answered takes the answer to an attempt: a keyed one of which nothing is known is asked for again.
func (l *locker) answered(ans *answer) {
	c := l.c
	switch {
	case ans.outcome == replica.Done:
		c.seen = max(c.seen, ans.result.Revision)
		l.took(&ans.result)
	case c.command.IdemKey != "" && l.retries < 2:
		l.retries++
		c.at = c.w.nodes[c.random.below(len(c.w.nodes))]
		c.w.at(nil, kindClient, c.random.skewed(100*time.Microsecond, 20*time.Millisecond), l.ask)
		return
	}
	l.rest()
}

// took looks at a result: none of those that say that a command was not understood may come.
func (l *locker) took(r *kv.Result) {
	switch r.Code {
	case kv.CodeMalformed, kv.CodeKeyReused, kv.CodeBaseAhead, kv.CodeFull, kv.CodeExists, kv.CodeTooLarge:
		l.c.w.fail("results", "client %d gets %q for %+v", l.c.id, r.Code, l.c.command)
	case kv.CodeNoSession:
		l.session = ""
	case kv.CodeDone:
		if l.c.command.Lock == kv.LockAcquire {
			l.token = r.Revision
		}
	}
}

// duration is one of the times that they give.
func (l *locker) duration(r *random) time.Duration {
	return r.skewed(l.c.w.plan.lockers.short, 8*l.c.w.plan.lockers.short)
}

func (l *locker) draw(r *random) kv.Command {
	lock := fmt.Sprintf("l%d", r.below(2))
	value := []byte(fmt.Sprintf("%d.%d", l.c.id, l.serial))
	switch p := r.below(100); {
	case l.session == "" || p < 3:
		l.session = fmt.Sprintf("%08x-0000-4000-8000-%012x", l.c.id, l.serial)
		s := kv.Session{ID: l.session, TTL: l.duration(r), Behavior: kv.Behavior(r.below(2))}
		if r.below(2) == 0 {
			s.LockDelay = l.duration(r)
		}
		return kv.Command{Op: kv.OpSessionCreate, Session: s}
	case p < 30:
		return kv.Command{Op: kv.OpSessionRenew, Session: kv.Session{ID: l.session}}
	case p < 55:
		return kv.Command{Op: kv.OpSet, Key: lock, Value: value, Lock: kv.LockAcquire, Session: kv.Session{ID: l.session}}
	case p < 62:
		return kv.Command{Op: kv.OpSet, Key: lock, Value: value, Lock: kv.LockRelease, Session: kv.Session{ID: l.session}}
	case p < 66:
		s := l.session
		l.session = ""
		return kv.Command{Op: kv.OpSessionDestroy, Session: kv.Session{ID: s}}
	case p < 70:
		return kv.Command{Op: kv.OpSet, Key: "guarded", Value: value, Fence: "kv/" + lock, Token: l.token}
	case p < 80:
		return kv.Command{Op: kv.OpSet, Key: fmt.Sprintf("e%d", r.below(3)), Value: value, TTL: l.duration(r) * time.Duration(r.below(4))}
	case p < 83:
		return kv.Command{Op: kv.OpExpire, Key: fmt.Sprintf("e%d", r.below(3)), TTL: l.duration(r) * time.Duration(r.below(2))}
	case p < 86:
		return kv.Command{Op: kv.OpPrune, Key: pick(r, "e", "l", "t")}
	}
	return l.transaction(r, lock, value)
}

// transaction writes two keys, takes a lock now and then, and often fails at its end.
func (l *locker) transaction(r *random, lock string, value []byte) kv.Command {
	c := kv.Command{Op: kv.OpTransaction, Parts: []kv.Part{
		{Op: kv.OpSet, Key: "t0", Value: value},
		{Op: kv.OpDelete, Key: fmt.Sprintf("e%d", r.below(3))},
		{Op: kv.OpSet, Key: "t1", Value: value},
	}}
	switch r.below(4) {
	case 0:
		c.Parts = append(c.Parts, kv.Part{Op: kv.OpSet, Key: lock, Value: value, Lock: kv.LockAcquire, Session: kv.Session{ID: l.session}})
	case 1:
		c.Parts = append(c.Parts, kv.Part{Op: kv.OpCheckNotExists, Key: "t0"})
	case 2:
		c.Parts = append(c.Parts, kv.Part{Op: kv.OpPrune, Key: "l"}, kv.Part{Op: kv.OpGetTree, Key: "t"})
	}
	return c
}
