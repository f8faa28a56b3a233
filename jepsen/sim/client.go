package sim

import (
	"fmt"
	"time"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
	"tenure/kv"
	"tenure/server/replica"
)

// clients are those that write and read registers, and what they were told.
type clients struct {
	*access
	list     []*client
	keys     keyring
	history  []history.Op
	visitors int // one-off clients so far
}

// client does one operation after the other on registers, each through one or several nodes, and records what it was
// told.
type client struct {
	caller
	all     *clients
	op      history.Op
	busy    bool
	stale   bool // the read is not recorded
	unknown bool // an attempt of this write may have been applied
	tries   int  // attempts of this operation
	serial  int
	indexes map[string]uint64 // as last read; never ranged over
	visits  bool              // it does one operation, by one attempt
}

func (x *clients) add(id int, r random, via *node) *client {
	c := &client{all: x, caller: caller{access: x.access, id: id, random: r, via: via}, indexes: map[string]uint64{}}
	c.took = c.tookAnswer
	return c
}

// keyring hands out the keys: after so many operations, or unknown outcomes, a key is left alone, because the
// checker's work grows fast with both.
type keyring struct {
	inUse []ringKey
	next  int
}

type ringKey struct {
	name     string
	ops      int
	unknowns int
}

const (
	maxOpsPerKey      = check.MaxOpsPerKey - 10
	maxUnknownsPerKey = 8
)

func (k *keyring) fresh() ringKey {
	k.next++
	return ringKey{name: fmt.Sprintf("k%d", k.next)}
}

// all returns every key that was ever in use.
func (k *keyring) all() (names []string) {
	for i := range k.next {
		names = append(names, fmt.Sprintf("k%d", i+1))
	}
	return names
}

func (k *keyring) pick(r *random) *ringKey {
	key := &k.inUse[r.below(len(k.inUse))]
	if key.ops >= maxOpsPerKey || key.unknowns >= maxUnknownsPerKey {
		*key = k.fresh()
	}
	key.ops++
	return key
}

// ended counts an unknown outcome of the key.
func (k *keyring) ended(name string, o history.Outcome) {
	for i := range k.inUse {
		if k.inUse[i].name == name && o == history.Info {
			k.inUse[i].unknowns++
		}
	}
}

// start makes the clients of the plan.
func (x *clients) start() {
	for range x.plan.clients.keys {
		x.keys.inUse = append(x.keys.inUse, x.keys.fresh())
	}
	for i := range x.plan.clients.count {
		c := x.add(i+1, x.stream(64+uint64(i)), nil)
		c.via = x.anyNode(&c.random)
		x.list = append(x.list, c)
		c.restThen(x.plan.clients.think, c.next)
	}
}

// rest returns a caller's pause before its next operation.
func (c *caller) rest(longest time.Duration) time.Duration {
	d := c.random.skewed(50*time.Microsecond, longest)
	switch c.phase {
	case phaseStuck, phaseSpares:
		d *= idleFactor
	case phaseClocks:
		d += clocksRest
	}
	return d
}

// restThen has next happen after a pause, while the clients go on.
func (c *caller) restThen(longest time.Duration, next func()) {
	c.at(nil, kindClient, c.rest(longest), func() {
		if c.phase <= phaseSettling {
			next()
		}
	})
}

// next begins an operation.
func (c *client) next() {
	p, r := &c.plan.clients, &c.random
	if !r.chance(p.sticky) {
		c.via = c.anyNode(r)
	}
	c.busy, c.unknown, c.stale, c.tries = true, false, false, 0
	c.op = history.Op{Client: c.id, Key: c.all.keys.pick(r).name, Call: c.now}
	c.command = kv.Command{}
	if r.chance(p.reads) {
		c.op.Kind, c.op.Mode = history.Get, modeNames[linear]
		switch {
		case r.chance(p.stale):
			c.op.Mode, c.stale = modeNames[stale], true
		case r.chance(p.steady):
			c.op.Mode = modeNames[consistent]
		}
	} else {
		c.write(r)
	}
	c.ask()
}

// write draws a write. Values are never written twice, so that a read tells whose it saw.
func (c *client) write(r *random) {
	c.serial++
	c.command = kv.Command{Op: kv.OpSet, Key: c.op.Key}
	c.op.Value = fmt.Sprintf("%d.%d", c.id, c.serial)
	switch k := r.below(10); {
	case k == 0:
		c.op.Kind, c.op.Value, c.command.Op = history.Delete, "", kv.OpDelete
	case k < 5:
		c.op.Kind, c.op.Index = history.CAS, c.indexes[c.op.Key]
		c.command.HasIndex, c.command.Index = true, c.op.Index
	default:
		c.op.Kind = history.Put
	}
	if c.command.Op == kv.OpSet {
		c.command.Value = append([]byte(c.op.Value), make([]byte, r.below(4)*r.below(30))...)
		c.op.Value = string(c.command.Value)
	}
	if r.chance(c.plan.clients.keyed) {
		c.command.IdemKey, c.command.Base = fmt.Sprintf("%d/%d", c.id, c.serial), c.newest
	}
}

func (c *client) mode() mode {
	for m, name := range modeNames {
		if c.op.Mode == name {
			return mode(m)
		}
	}
	return write
}

// ask makes an attempt through the client's node.
func (c *client) ask() {
	p := &c.plan.clients
	c.tries++
	a := c.begin(c.mode(), c.op.Key)
	a.acked = c.masters.acked
	timeout := p.timeout/2 + c.random.between(0, p.timeout/2)
	wait := timeout
	switch c.random.below(4) {
	case 0:
		wait += c.random.between(0, p.linger)
	case 1:
		wait = c.random.between(timeout/8, timeout)
	}
	c.send(a, c.hop(), wait)
	c.giveUp(timeout)
}

// tookAnswer takes the answer to an attempt: it ends the operation, or the client tries again through another node.
func (c *client) tookAnswer(ans *answer) {
	if ans.outcome == replica.Done {
		c.newest = max(c.newest, ans.result.Revision)
		c.done(ans)
		return
	}
	isWrite := c.op.Kind != history.Get
	if isWrite && ans.outcome == replica.Unknown {
		c.unknown = true
		if c.command.IdemKey == "" {
			c.end(history.Info)
			return
		}
	}
	if c.visits || c.tries > c.plan.clients.tries {
		if c.unknown {
			c.end(history.Info)
		} else {
			c.end(history.Fail)
		}
		return
	}
	c.via = c.anyNode(&c.random)
	c.at(nil, kindClient, c.random.skewed(100*time.Microsecond, 20*time.Millisecond), c.ask)
}

// done takes the result of an operation.
func (c *client) done(ans *answer) {
	op := &c.op
	if op.Kind == history.Get {
		op.Absent, op.Value, op.Index = !ans.found, string(ans.entry.Value), ans.entry.ModifyIndex
		c.indexes[op.Key] = op.Index
		c.end(history.OK)
		return
	}
	switch ans.result.Code {
	case kv.CodeDone:
		op.Matched, op.Result = true, ans.result.Revision
		if op.Kind == history.CAS {
			c.indexes[op.Key] = op.Result
		}
		c.end(history.OK)
	case kv.CodeCondition:
		c.end(history.OK)
	case kv.CodeKeyTooOld:
		c.end(history.Info)
	default:
		c.fail("results", "client %d gets %q for %+v", c.id, ans.result.Code, c.command)
	}
}

// end records the operation.
func (c *client) end(o history.Outcome) {
	c.busy = false
	c.op.Outcome, c.op.Return = o, c.now
	switch o {
	case history.OK:
		c.counts.Done++
	case history.Fail:
		c.counts.Refused++
	default:
		c.counts.Unknown++
		c.op.Return = history.Forever
	}
	c.all.keys.ended(c.op.Key, o)
	if !c.stale && (c.plan.clocked() || c.op.Mode != modeNames[linear]) {
		c.all.history = append(c.all.history, c.op)
	}
	if !c.visits {
		c.restThen(c.plan.clients.think, c.next)
	}
}

// pounce is a read at the worst moment: it reaches a process that was paused before its own loops run again.
func (x *clients) pounce(n *node) {
	x.visitors++
	c := x.add(2000+x.visitors, x.stream(4000+uint64(x.visitors)), n)
	c.visits = true
	c.op = history.Op{Client: c.id, Kind: history.Get, Mode: modeNames[linear], Key: x.keys.pick(&c.random).name,
		Call: x.now}
	a := c.begin(linear, c.op.Key)
	a.acked = x.masters.acked
	a.arrive(n, x.plan.clients.timeout)
}

// readAll reads every key once more, so that a lost write is seen to be lost.
func (x *clients) readAll() {
	seen := map[string]bool{} // never ranged over
	var keys []string
	for i := range x.history {
		if k := x.history[i].Key; !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	r := x.stream(5)
	for i, k := range keys {
		c := x.add(1000+i, x.stream(1000+uint64(i)), x.anyNode(&r))
		c.busy = true
		c.op = history.Op{Client: c.id, Kind: history.Get, Mode: modeNames[consistent], Key: k, Call: x.now}
		x.list = append(x.list, c)
		x.at(nil, kindClient, 0, c.ask)
	}
}

// idle reports whether every client has its answer.
func (x *clients) idle() bool {
	for _, c := range x.list {
		if c.busy {
			return false
		}
	}
	return true
}
