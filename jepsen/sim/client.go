package sim

import (
	"fmt"
	"time"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
	"tenure/kv"
	"tenure/server/replica"
)

// client does one operation after the other, each through one or several nodes, and records what it was told.
type client struct {
	w      *world
	id     int
	random random
	at     *node // where it asks next

	op      history.Op
	command kv.Command
	busy    bool
	stale   bool   // the read is not recorded
	unknown bool   // an attempt of this write may have been applied
	tries   int    // attempts of this operation
	attempt uint64 // the one that it waits for
	serial  int
	seen    uint64            // highest revision it was told
	indexes map[string]uint64 // as last read; never ranged over
	probing func(*answer)     // takes the answer instead
	visits  bool              // it does one operation, by one attempt
}

// keyring hands out the keys: after so many operations, or unknown outcomes, a key is left alone, because the
// checker's work grows fast with both.
type keyring struct {
	live []ringKey
	next int
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

func (k *keyring) pick(r *random) *ringKey {
	key := &k.live[r.below(len(k.live))]
	if key.ops >= maxOpsPerKey || key.unknowns >= maxUnknownsPerKey {
		*key = k.fresh()
	}
	key.ops++
	return key
}

// ended counts an unknown outcome of the key.
func (k *keyring) ended(name string, o history.Outcome) {
	for i := range k.live {
		if k.live[i].name == name && o == history.Info {
			k.live[i].unknowns++
		}
	}
}

func (w *world) startClients() {
	for range w.plan.clients.keys {
		w.keys.live = append(w.keys.live, w.keys.fresh())
	}
	for i := range w.plan.clients.count {
		c := &client{w: w, id: i + 1, random: stream(w.cfg.Seed, 64+uint64(i)), indexes: map[string]uint64{}}
		c.at = w.nodes[c.random.below(len(w.nodes))]
		w.clients = append(w.clients, c)
		c.rest()
	}
}

// rest waits before the next operation.
func (c *client) rest() {
	d := c.random.skewed(50*time.Microsecond, c.w.plan.clients.think)
	if c.w.phase == phaseStuck {
		d *= idleFactor
	}
	c.w.at(nil, kindClient, d, func() {
		if c.w.phase <= phaseSettling {
			c.next()
		}
	})
}

// next begins an operation.
func (c *client) next() {
	p, r := &c.w.plan.clients, &c.random
	if !r.chance(p.sticky) {
		c.at = c.w.nodes[r.below(len(c.w.nodes))]
	}
	c.busy, c.unknown, c.stale, c.tries = true, false, false, 0
	c.op = history.Op{Client: c.id, Key: c.w.keys.pick(r).name, Call: c.w.now}
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
	if r.chance(c.w.plan.clients.keyed) {
		c.command.IdemKey, c.command.Base = fmt.Sprintf("%d/%d", c.id, c.serial), c.seen
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
	w, p := c.w, &c.w.plan.clients
	c.tries++
	w.nextID++
	c.attempt = w.nextID
	a := &attempt{client: c, serial: c.attempt, mode: c.mode(), key: c.op.Key, acked: w.acked}
	if a.isWrite() {
		a.command, a.keyed, a.frees = kv.EncodeCommand(&c.command), c.command.IdemKey != "", c.command.Op == kv.OpDelete
	}
	patience := p.patience/2 + c.random.between(0, p.patience/2)
	wait := patience
	switch c.random.below(4) {
	case 0:
		wait += c.random.between(0, p.linger)
	case 1:
		wait = c.random.between(patience/8, patience)
	}
	at := c.at
	w.reach(at, w.network.skewed(w.plan.hop, w.plan.clientHop), func() { a.arrive(at, wait) })
	serial := c.attempt
	w.at(nil, kindClient, patience, func() {
		if c.attempt == serial {
			c.answered(answer{outcome: replica.Unknown})
		}
	})
}

// reach has do happen at a node whatever process runs there by then, or none; a paused one lets it wait.
func (w *world) reach(n *node, d time.Duration, do func()) { w.reachAs(kindAsk, n, d, do) }

func (w *world) reachAs(k kind, n *node, d time.Duration, do func()) {
	w.at(nil, k, d, func() {
		if n.paused {
			n.held = append(n.held, &event{node: n, run: n.run, kind: k, do: do})
			return
		}
		do()
	})
}

// answered takes the answer to an attempt, or the end of the client's patience.
func (c *client) answered(ans answer) {
	c.attempt = 0
	w := c.w
	if w.trace.on() {
		w.trace.note("client %d: %s", c.id, outcomeNames[ans.outcome])
	}
	w.trace.mix(uint64(c.id), uint64(ans.outcome), ans.result.Revision, uint64(ans.result.Code))
	if c.probing != nil {
		c.probing(&ans)
		return
	}
	if ans.outcome == replica.Done {
		c.seen = max(c.seen, ans.result.Revision)
		c.done(&ans)
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
	if c.visits || c.tries > c.w.plan.clients.tries {
		if c.unknown {
			c.end(history.Info)
		} else {
			c.end(history.Fail)
		}
		return
	}
	c.at = w.nodes[c.random.below(len(w.nodes))]
	w.at(nil, kindClient, c.random.skewed(100*time.Microsecond, 20*time.Millisecond), c.ask)
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
		c.w.fail("results", "client %d gets %q for %+v", c.id, ans.result.Code, c.command)
	}
}

// end records the operation.
func (c *client) end(o history.Outcome) {
	w := c.w
	c.busy = false
	c.op.Outcome, c.op.Return = o, w.now
	switch o {
	case history.OK:
		w.counts.Done++
	case history.Fail:
		w.counts.Refused++
	default:
		w.counts.Unknown++
		c.op.Return = history.Forever
	}
	w.keys.ended(c.op.Key, o)
	if !c.stale && (w.plan.clocked() || c.op.Mode != modeNames[linear]) {
		w.history = append(w.history, c.op)
	}
	if !c.visits {
		c.rest()
	}
}

// pounce is a read at the worst moment: it reaches a process that was paused before its own loops run again.
func (w *world) pounce(n *node) {
	w.visitors++
	c := &client{w: w, id: 2000 + w.visitors, random: stream(w.cfg.Seed, 4000+uint64(w.visitors)), at: n, indexes: map[string]uint64{}, visits: true}
	c.op = history.Op{Client: c.id, Kind: history.Get, Mode: modeNames[linear], Key: w.keys.pick(&c.random).name, Call: w.now}
	w.nextID++
	c.attempt = w.nextID
	a := &attempt{client: c, serial: c.attempt, mode: linear, key: c.op.Key, acked: w.acked}
	a.arrive(n, w.plan.clients.patience)
}
