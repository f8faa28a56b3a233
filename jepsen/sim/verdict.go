package sim

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// phase is how far a run is.
type phase uint8

const (
	phaseFaults     phase = iota
	phaseStuck            // no faults any more but that a minority is stuck, and masters die (stuck.go)
	phaseSettling         // no faults any more, the clients go on
	phaseProbing          // a write through each node must succeed
	phaseConverging       // all nodes must come to hold the same
	phaseReading          // every key is read once more
	phaseOver
)

// settleFor is how long the clients go on after the faults.
const settleFor = 100 * time.Millisecond

// progressWithin bounds what the cluster may take to serve through every node, and to be equal, after the faults.
func (w *world) progressWithin() time.Duration { return 20*w.plan.lease + 5*time.Second }

// heal ends the faults and brings back every node whose disk is good.
func (w *world) heal() {
	w.phase, w.healed = phaseSettling, w.now
	w.at(nil, kindHeal, 0, func() {
		w.calm()
		w.stayFull()
	})
	w.at(nil, kindHeal, settleFor, func() { w.phase = phaseProbing; w.probe() })
}

// calm ends all faults.
func (w *world) calm() {
	w.setCut([5][5]bool{})
	for _, n := range w.nodes {
		n.slow, n.stall, n.eio, n.space = 0, 0, false, replica.SpaceEnough
		n.thaw()
		n.clock.run(w.now, 0)
		n.drift(w.now)
		n.resume()
		if !n.up() {
			n.restart(0, false)
		}
	}
}

// probe writes through each node that takes part, until it succeeds.
func (w *world) probe() {
	for _, n := range w.nodes {
		if n.out {
			continue
		}
		c := &client{w: w, id: 100 + n.i, random: stream(w.cfg.Seed, 128+uint64(n.i)), at: n}
		w.at(nil, kindClient, 0, func() { w.probeOnce(c, n) })
		w.at(nil, kindLeaser, 0, func() { w.probeLease(n, 1) })
	}
	w.await()
}

// probeOnce is one attempt; what came of it shows in n.probed.
func (w *world) probeOnce(c *client, n *node) {
	if n.out {
		return
	}
	w.nextID++
	c.attempt = w.nextID
	c.command = kv.Command{Op: kv.OpSet, Key: fmt.Sprintf("probe/%d", n.id), Value: []byte("p")}
	a := &attempt{client: c, serial: c.attempt, key: c.command.Key, command: kv.EncodeCommand(&c.command)}
	c.probing = func(ans *answer) {
		if ans.outcome == replica.Done {
			n.probed = true
			return
		}
		w.at(nil, kindClient, 5*time.Millisecond, func() { w.probeOnce(c, n) })
	}
	w.reach(n, w.plan.hop, func() { a.arrive(n, time.Second) })
}

// probeLease acquires a name of its own through n, until it succeeds.
func (w *world) probeLease(n *node, try uint64) {
	if n.out || w.plan.leasers.count == 0 {
		n.leased = true
		return
	}
	c := &leaseCall{request: replica.LeaseRequest{Op: replica.LeaseAcquire, Name: leaseName(byte('0' + n.i)), Owner: "probe", Duration: w.plan.leasers.longest}}
	binary.BigEndian.PutUint64(c.request.Acquisition[:], uint64(n.id)<<48|try)
	c.probe = func(a *replica.LeaseAnswer) {
		if n.leased = a.Outcome == replica.LeaseDone; !n.leased {
			w.at(nil, kindLeaser, 5*time.Millisecond, func() { w.probeLease(n, try+1) })
		}
	}
	w.call(n, c)
}

// await waits for every node to be probed, then for equal states, then for the last reads.
func (w *world) await() {
	if w.now > w.healed+w.progressWithin() {
		w.fail("progress", "%v after the faults ended, %s", w.now-w.healed, w.missing())
	}
	switch {
	case w.phase == phaseProbing && w.idle():
		w.phase = phaseConverging
		w.makeSpace()
	case w.phase == phaseConverging && w.equal():
		w.phase = phaseReading
		w.readAll()
	case w.phase == phaseReading && w.idle():
		w.phase = phaseOver
		return
	}
	w.at(nil, kindHeal, 20*time.Millisecond, w.await)
}

// idle tells whether every client has its answer and every probe succeeded.
func (w *world) idle() bool {
	for _, c := range w.clients {
		if c.busy {
			return false
		}
	}
	for _, n := range w.nodes {
		if !n.out && !(n.probed && n.leased) {
			return false
		}
	}
	return true
}

// equal tells whether all nodes that take part have applied the same slots; then their states must be the same.
func (w *world) equal() bool {
	var first *node
	for _, n := range w.nodes {
		if n.out {
			continue
		}
		if !n.up() || multipaxos.Slot(n.state.Applied()) != n.core.Chosen() || n.core.Chosen() != n.core.Last() || n.effect != replica.EffectTake {
			return false
		}
		if first == nil {
			first = n
		} else if n.state.Applied() != first.state.Applied() {
			return false
		}
	}
	for _, n := range w.nodes {
		if !n.out {
			n.compareDigest()
		}
	}
	return true
}

// readAll reads every key once more, so that a lost write is seen to be lost.
func (w *world) readAll() {
	seen := map[string]bool{} // never ranged over
	var keys []string
	for i := range w.history {
		if k := w.history[i].Key; !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	r := stream(w.cfg.Seed, 5)
	for i, k := range keys {
		c := &client{w: w, id: 1000 + i, random: stream(w.cfg.Seed, 1000+uint64(i)), indexes: map[string]uint64{}}
		c.at = w.nodes[r.below(len(w.nodes))]
		c.busy = true
		c.op = history.Op{Client: c.id, Kind: history.Get, Mode: modeNames[consistent], Key: k, Call: w.now}
		w.clients = append(w.clients, c)
		w.at(nil, kindClient, 0, c.ask)
	}
}

// missing says what progress has not come.
func (w *world) missing() string {
	var out []string
	for _, n := range w.nodes {
		switch {
		case n.out:
		case !n.up():
			out = append(out, fmt.Sprintf("node %d is down", n.id))
		default:
			s := n.log.Status(n.reading())
			out = append(out, fmt.Sprintf("node %d: probed %v, leased %v, applied %d, chosen %d, last %d, master %d, %v, phase %v", n.id, n.probed, n.leased,
				s.Applied, s.Chosen, n.core.Last(), s.Master, n.pub, n.core.Phase()))
		}
	}
	return strings.Join(out, "; ")
}

// checkTimeout bounds the search for a linearization of one key; running out of it is a failure.
const checkTimeout = 20 * time.Second

// judge checks the clients' history, key by key.
func (w *world) judge() *Failure {
	byKey := map[string][]porcupine.Operation{}
	var keys []string
	for _, op := range w.history {
		if op.Outcome == history.Fail || (op.Outcome == history.Info && op.Kind == history.Get) {
			continue
		}
		if byKey[op.Key] == nil {
			keys = append(keys, op.Key)
		}
		byKey[op.Key] = append(byKey[op.Key], porcupine.Operation{ClientId: op.Client, Input: op, Call: int64(op.Call), Output: op,
			Return: int64(op.Return)})
	}
	for _, k := range keys {
		verdict := porcupine.CheckOperationsTimeout(check.Model, byKey[k], checkTimeout)
		if verdict == porcupine.Ok {
			continue
		}
		return &Failure{Check: "linearizability", Step: w.steps, At: w.now - startTime,
			Detail: fmt.Sprintf("key %q: %v\n%s", k, verdict, w.story(k))}
	}
	return nil
}

// story is the history of one key, for people.
func (w *world) story(key string) string {
	var ops []history.Op
	for _, op := range w.history {
		if op.Key == key && op.Outcome != history.Fail {
			ops = append(ops, op)
		}
	}
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].Call < ops[j].Call })
	var b strings.Builder
	for _, op := range ops {
		end := "…"
		if op.Return != history.Forever {
			end = fmt.Sprintf("%.6f", (op.Return - startTime).Seconds())
		}
		op.Value = strings.TrimRight(op.Value, "\x00")
		fmt.Fprintf(&b, "  %10.6f – %-10s client %-4d %s\n", (op.Call - startTime).Seconds(), end, op.Client, check.Describe(op))
	}
	return b.String()
}
