package multipaxos

import (
	"errors"
	"fmt"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// failer is what the harness needs of a test: testing.T, testing.B and rapid.T have it.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// disk is a log.db in memory: what is in it survives a crash.
type disk struct {
	promised  ballot.Ballot
	chosen    Slot
	truncated Slot
	last      Slot
	entries   map[Slot]Entry
	err       error
}

func newDisk() *disk { return &disk{entries: map[Slot]Entry{}} }

func (d *disk) apply(p Persist) {
	d.promised = d.promised.Max(p.Promised)
	for _, e := range p.Entries {
		d.entries[e.Slot] = e
		d.last = max(d.last, e.Slot)
	}
	d.chosen = max(d.chosen, p.Chosen)
	for ; d.truncated < p.Truncate; d.truncated++ {
		delete(d.entries, d.truncated+1)
	}
	d.last = max(d.last, d.truncated)
}

func (d *disk) durable() Durable {
	return Durable{Promised: d.promised, Truncated: d.truncated, Chosen: d.chosen, Last: d.last}
}

func (d *disk) Entries(from, through Slot, maxBytes int) ([]Entry, error) {
	var out []Entry
	bytes := 0
	for s := from; s <= through && s <= d.last && bytes < maxBytes; s++ {
		if e, ok := d.entries[s]; ok {
			out = append(out, e)
			bytes += len(e.Value)
		}
	}
	return out, d.err
}

func (d *disk) clone() *disk {
	n := *d
	n.entries = map[Slot]Entry{}
	for s, e := range d.entries {
		n.entries[s] = e
	}
	return &n
}

// node is one Core with its disk, its state database and what storage has not made durable yet.
type node struct {
	id      ballot.NodeID
	core    *Core
	disk    *disk
	pending []Persist
	restart uint64
	stateDB Slot // durable
	applied Slot
	barrier Slot          // the entry proposed first under opened
	opened  ballot.Ballot // the ballot of the newest attempt that came to Leading
	looked  Slot
	reads   []read
}

// read is a consistent read that waits for its round.
type read struct {
	ballot       ballot.Ballot
	round        uint64
	chosenByAll  Slot // highest slot that any node knew chosen when the read arrived
	chosenByThis Slot
}

// world is a cluster on a network of which the test decides everything. It checks after every step what must hold.
type world struct {
	t       failer
	cfg     Config
	nodes   []*node
	net     []Message
	values  map[Slot]string // chosen
	top     Slot            // highest slot in values
	votes   map[Slot]map[ballot.Ballot]*quorum.Set
	said    map[Slot]map[ballot.Ballot]string
	ballots map[ballot.Ballot]bool
	serial  int
	reads   int    // consistent reads that were confirmed
	cut     uint64 // bit from*6+to: messages on this link wait
	cuts    int    // mean number of steps between changes of cut; 0: never
	calm    int    // how much rarer than drawn attempts to lead and crashes are
}

func smallConfig() Config {
	return Config{PageBytes: 12, WindowEntries: 4, WindowBytes: 64, CacheBytes: 250, KeepEntries: 1}
}

func newWorld(t failer, n int, cfg Config) *world {
	w := &world{
		t: t, cfg: cfg, values: map[Slot]string{}, votes: map[Slot]map[ballot.Ballot]*quorum.Set{},
		said: map[Slot]map[ballot.Ballot]string{}, ballots: map[ballot.Ballot]bool{},
	}
	for i := range n {
		w.cfg.Voters.Add(ballot.NodeID(i + 1))
	}
	for i := range n {
		nd := &node{id: ballot.NodeID(i + 1), disk: newDisk()}
		w.nodes = append(w.nodes, nd)
		w.start(nd)
	}
	return w
}

func (w *world) start(n *node) {
	n.restart++
	cfg := w.cfg
	cfg.Self = ballot.Incarnation{Restart: n.restart, Node: n.id, Nonce: 7}
	core, err := New(cfg, n.disk.durable(), n.disk)
	if err != nil {
		w.t.Fatalf("node %d does not start: %v", n.id, err)
	}
	core.Checkpointed(n.stateDB)
	core.Applied(n.stateDB)
	n.core, n.pending, n.applied, n.looked, n.reads = core, nil, n.stateDB, n.stateDB, nil
	w.drain(n)
}

// crash loses what is not durable; the first keep Persists just made it.
func (w *world) crash(n *node, keep int) {
	for _, p := range n.pending[:min(keep, len(n.pending))] {
		w.write(n, p)
	}
	w.start(n)
}

func (w *world) write(n *node, p Persist) {
	n.disk.apply(p)
	for _, e := range p.Entries {
		if w.votes[e.Slot] == nil {
			w.votes[e.Slot] = map[ballot.Ballot]*quorum.Set{}
			w.said[e.Slot] = map[ballot.Ballot]string{}
		}
		if w.votes[e.Slot][e.Ballot] == nil {
			w.votes[e.Slot][e.Ballot] = &quorum.Set{}
			w.said[e.Slot][e.Ballot] = string(e.Value)
		}
		if w.said[e.Slot][e.Ballot] != string(e.Value) {
			w.t.Fatalf("slot %d has two values under %v", e.Slot, e.Ballot)
		}
		w.votes[e.Slot][e.Ballot].Add(n.id)
	}
}

// sync makes the first k pending Persists durable and says so.
func (w *world) sync(n *node, k int) {
	k = min(k, len(n.pending))
	if k == 0 {
		return
	}
	for _, p := range n.pending[:k] {
		w.write(n, p)
	}
	seq := n.pending[k-1].Seq
	n.pending = n.pending[k:]
	w.must(n.core.Persisted(seq))
	w.drain(n)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

// drain takes the output of a step and checks it.
func (w *world) drain(n *node) {
	w.t.Helper()
	if n.core.Phase() == Leading && n.opened != n.core.Ballot() {
		n.opened = n.core.Ballot()
		if s, ok := n.core.Propose(w.value()); ok {
			n.barrier = s
		} else {
			n.barrier = 0 // the window is full of what was found; a later proposal opens
		}
	}
	out := n.core.Take()
	n.pending = append(n.pending, out.Persists...)
	for _, m := range out.Messages {
		w.checkMessage(n, m)
		w.net = append(w.net, m)
	}
	w.checkChosen(n)
	w.checkRead(n)
}

func (w *world) value() []byte {
	w.serial++
	return fmt.Appendf(nil, "v%d", w.serial)
}

// checkMessage: nothing leaves before the state it speaks of is on disk, and nobody is told what the sender would not
// show itself.
func (w *world) checkMessage(n *node, m Message) {
	w.t.Helper()
	switch m.Kind {
	case KindPrepare, KindPromise, KindAccepted:
		if n.disk.promised.Less(m.Ballot) {
			w.t.Fatalf("node %d sends %d under %v before its promise is durable (%v)", n.id, m.Kind, m.Ballot, n.disk.promised)
		}
	case KindAccept, KindHeartbeat, KindLearn:
		if m.Chosen > n.applied {
			w.t.Fatalf("node %d advertises %d and has applied %d", n.id, m.Chosen, n.applied)
		}
	}
	if m.Kind == KindAccepted {
		for s := m.Slot; s <= m.Through; s++ {
			if e, ok := n.disk.entries[s]; s > n.disk.truncated && (!ok || (e.Ballot.Less(m.Ballot) && s > w.top)) {
				w.t.Fatalf("node %d accepted slot %d under %v before it is durable (%v)", n.id, s, m.Ballot, e.Ballot)
			}
		}
	}
}

// checkChosen: one value per slot, for ever, and a quorum of disks behind it.
func (w *world) checkChosen(n *node) {
	w.t.Helper()
	for n.looked < n.core.Chosen() {
		es, err := n.core.ChosenEntries(n.looked+1, 1<<20)
		if errors.Is(err, ErrTruncated) {
			n.looked = n.core.Truncated()
			continue
		}
		w.must(err)
		if len(es) == 0 || es[0].Slot != n.looked+1 {
			w.t.Fatalf("node %d: slot %d is chosen and cannot be read: %v", n.id, n.looked+1, es)
		}
		for _, e := range es {
			w.checkValue(n, e)
			n.looked = e.Slot
		}
	}
}

func (w *world) checkValue(n *node, e Entry) {
	w.t.Helper()
	if v, ok := w.values[e.Slot]; ok {
		if v != string(e.Value) {
			w.t.Fatalf("slot %d: %q was chosen, node %d says %q", e.Slot, v, n.id, e.Value)
		}
		return
	}
	backed := false
	for b, set := range w.votes[e.Slot] {
		if quorum.Reached(w.cfg.Voters, *set) {
			if w.said[e.Slot][b] != string(e.Value) {
				w.t.Fatalf("slot %d: a quorum of disks holds %q under %v, node %d says %q", e.Slot, w.said[e.Slot][b], b, n.id,
					e.Value)
			}
			backed = true
		}
	}
	if !backed {
		w.t.Fatalf("slot %d is called chosen by node %d without a quorum of disks", e.Slot, n.id)
	}
	w.values[e.Slot] = string(e.Value)
	w.top = max(w.top, e.Slot)
}

// checkRead: what anybody knew chosen before the read arrived is in the reader's log, once its round is confirmed.
func (w *world) checkRead(n *node) {
	w.t.Helper()
	if n.core.Phase() != Leading {
		n.reads = nil
	}
	n.reads = slices.DeleteFunc(n.reads, func(r read) bool {
		if n.core.Ballot() != r.ballot {
			return true
		}
		if n.core.ConfirmedRound() < r.round {
			return false
		}
		if r.chosenByAll > r.chosenByThis {
			w.t.Fatalf("node %d confirmed a read at slot %d, slot %d was chosen before it arrived", n.id, r.chosenByThis,
				r.chosenByAll)
		}
		w.reads++
		return true
	})
}

func (w *world) startRead(n *node) {
	if n.core.Phase() == Leading && n.barrier > 0 && n.opened == n.core.Ballot() && n.core.Chosen() >= n.barrier &&
		len(n.reads) < 4 {
		n.reads = append(n.reads, read{ballot: n.core.Ballot(), chosenByAll: w.top, chosenByThis: n.core.Chosen(),
			round: n.core.Confirm()})
		w.drain(n)
	}
}

func (w *world) lead(n *node) {
	n.core.Lead()
	if w.ballots[n.core.Ballot()] {
		w.t.Fatalf("ballot %v is used twice", n.core.Ballot())
	}
	w.ballots[n.core.Ballot()] = true
	w.drain(n)
}

func (w *world) apply(n *node) {
	es, err := n.core.ChosenEntries(n.applied+1, 1<<20)
	w.must(err)
	for _, e := range es {
		w.checkValue(n, e)
		n.applied = e.Slot
	}
	n.core.Applied(n.applied)
	w.drain(n)
}

func (w *world) checkpoint(n *node) {
	n.stateDB = max(n.stateDB, min(n.applied, n.core.SyncedThrough()))
	n.core.Checkpointed(n.stateDB)
	w.drain(n)
}

// deliver hands over the i-th message of the network; again tells whether a copy stays there.
func (w *world) deliver(i int, again bool) {
	m := w.net[i]
	if !again {
		w.net = slices.Delete(w.net, i, i+1)
	}
	n := w.nodes[m.To-1]
	w.must(n.core.Step(m))
	w.drain(n)
}

// round lets a healthy cluster do all it can do without time passing.
func (w *world) round() {
	for busy := true; busy; {
		busy = false
		for _, n := range w.nodes {
			if len(n.pending) > 0 {
				w.sync(n, len(n.pending))
				busy = true
			}
			if n.applied < n.core.Chosen() {
				w.apply(n)
				busy = true
			}
		}
		for len(w.net) > 0 {
			w.deliver(0, false)
			busy = true
		}
	}
}

func (w *world) tick() {
	for _, n := range w.nodes {
		w.must(n.core.Tick())
		w.drain(n)
	}
}

// elect brings node n to Leading on a healthy network.
func (w *world) elect(n *node) {
	w.t.Helper()
	w.lead(n)
	for range 400 {
		w.round()
		if n.core.Phase() == Leading {
			return
		}
		if n.core.Preempted() {
			w.lead(n)
		}
		w.tick()
	}
	w.t.Fatalf("node %d does not come to lead: %v %v", n.id, n.core.Phase(), n.core.Ballot())
}

// settle runs a healthy cluster until a fresh value is chosen and applied everywhere.
func (w *world) settle(n *node) {
	w.t.Helper()
	w.elect(n)
	var slot Slot
	for range 400 {
		if slot == 0 {
			if s, ok := n.core.Propose(w.value()); ok {
				slot = s
				w.drain(n)
			}
		}
		w.round()
		w.tick()
		if slot > 0 && !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.applied < slot }) {
			return
		}
	}
	for _, n := range w.nodes {
		w.t.Helper()
		fmt.Printf("node %d: %v chosen %d applied %d last %d truncated %d\n", n.id, n.core.Phase(), n.core.Chosen(),
			n.applied, n.core.Last(), n.core.Truncated())
	}
	w.t.Fatalf("no progress: slot %d is not applied everywhere", slot)
}
