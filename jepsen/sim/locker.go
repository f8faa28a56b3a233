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
// The oracle checks its operations, and that all nodes come to the same results, so no history is kept of them.
type locker struct {
	caller
	session string
	serial  int
	token   uint64
	retries int
}

// startLockers makes the lockers of the plan.
func (x *access) startLockers() {
	for i := range x.plan.lockers.count {
		l := &locker{caller: caller{access: x, id: 300 + i, random: x.stream(6000 + uint64(i))}}
		l.took = l.tookAnswer
		l.via = x.anyNode(&l.random)
		l.restThen(x.plan.lockers.think, l.next)
	}
}

// next draws a command and asks for it.
func (l *locker) next() {
	r := &l.random
	if r.chance(300) {
		l.via = l.anyNode(r)
	}
	l.serial++
	l.retries = 0
	l.command = l.draw(r)
	if r.chance(l.plan.lockers.keyed) {
		l.command.IdemKey, l.command.Base = fmt.Sprintf("l%d/%d", l.id, l.serial), l.newest
	}
	l.ask()
}

func (l *locker) ask() {
	l.try(l.begin(write, l.command.Key), l.plan.clients.timeout)
}

// tookAnswer takes the answer to an attempt: a keyed one of which nothing is known is asked for again.
func (l *locker) tookAnswer(ans *answer) {
	switch {
	case ans.outcome == replica.Done:
		l.newest = max(l.newest, ans.result.Revision)
		l.check(&ans.result)
	case l.command.IdemKey != "" && l.retries < 2:
		l.retries++
		l.via = l.anyNode(&l.random)
		l.at(nil, kindClient, l.random.skewed(100*time.Microsecond, 20*time.Millisecond), l.ask)
		return
	}
	l.restThen(l.plan.lockers.think, l.next)
}

// check checks a result: none of those that say that a command was not understood may come.
func (l *locker) check(r *kv.Result) {
	switch r.Code {
	case kv.CodeMalformed, kv.CodeKeyReused, kv.CodeBaseAhead, kv.CodeFull, kv.CodeExists, kv.CodeTooLarge:
		l.fail("results", "client %d gets %q for %+v", l.id, r.Code, l.command)
	case kv.CodeNoSession:
		l.session = ""
	case kv.CodeDone:
		if l.command.Lock == kv.LockAcquire {
			l.token = r.Revision
		}
	}
}

// duration draws one of the times that they give.
func (l *locker) duration(r *random) time.Duration {
	return r.skewed(l.plan.lockers.short, 8*l.plan.lockers.short)
}

func (l *locker) draw(r *random) kv.Command {
	lock := fmt.Sprintf("l%d", r.below(2))
	value := []byte(fmt.Sprintf("%d.%d", l.id, l.serial))
	switch p := r.below(100); {
	case l.session == "" || p < 3:
		l.session = fmt.Sprintf("%08x-0000-4000-8000-%012x", l.id, l.serial)
		s := kv.Session{ID: l.session, TTL: l.duration(r), Behavior: kv.Behavior(r.below(2))}
		if r.below(2) == 0 {
			s.LockDelay = l.duration(r)
		}
		return kv.Command{Op: kv.OpSessionCreate, Session: s}
	case p < 30:
		return kv.Command{Op: kv.OpSessionRenew, Session: kv.Session{ID: l.session}}
	case p < 55:
		return kv.Command{Op: kv.OpSet, Key: lock, Value: value, Lock: kv.LockAcquire,
			Session: kv.Session{ID: l.session}}
	case p < 62:
		return kv.Command{Op: kv.OpSet, Key: lock, Value: value, Lock: kv.LockRelease,
			Session: kv.Session{ID: l.session}}
	case p < 66:
		s := l.session
		l.session = ""
		return kv.Command{Op: kv.OpSessionDestroy, Session: kv.Session{ID: s}}
	case p < 70:
		return kv.Command{Op: kv.OpSet, Key: "guarded", Value: value, Fence: "kv/" + lock, Token: l.token}
	case p < 80:
		return kv.Command{Op: kv.OpSet, Key: fmt.Sprintf("e%d", r.below(3)), Value: value,
			TTL: l.duration(r) * time.Duration(r.below(4))}
	case p < 83:
		return kv.Command{Op: kv.OpSetTTL, Key: fmt.Sprintf("e%d", r.below(3)),
			TTL: l.duration(r) * time.Duration(r.below(2))}
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
		c.Parts = append(c.Parts, kv.Part{Op: kv.OpSet, Key: lock, Value: value, Lock: kv.LockAcquire,
			Session: kv.Session{ID: l.session}})
	case 1:
		c.Parts = append(c.Parts, kv.Part{Op: kv.OpCheckNotExists, Key: "t0"})
	case 2:
		c.Parts = append(c.Parts, kv.Part{Op: kv.OpPrune, Key: "l"}, kv.Part{Op: kv.OpGetTree, Key: "t"})
	}
	return c
}
