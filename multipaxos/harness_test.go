package multipaxos

import (
	"cmp"
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

func behind(c *Core) bool {
	behind, _ := c.Behind()
	return behind
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

// world is a cluster on a network that the test controls. It checks the invariants after every step.
type world struct {
	t       failer
	cfg     Config
	base    Membership // of the nodes that the cluster began with
	nodes   []*node
	net     []Message
	values  map[Slot]string // chosen
	top     Slot            // highest slot in values
	votes   map[Slot]map[ballot.Ballot]*quorum.Set
	said    map[Slot]map[ballot.Ballot]string
	ballots map[ballot.Ballot]bool
	serial  int
	reads   int    // consistent reads that were confirmed
	changes int    // of the membership that were chosen
	copies  int    // snapshots that were installed
	cut     uint64 // bit from*6+to: messages on this link wait
	cuts    int    // mean number of steps between changes of cut; 0: never
	calm    int    // how much rarer than drawn attempts to lead and crashes are
}

func smallConfig() Config {
	return Config{PageBytes: 12, WindowEntries: 4, WindowBytes: 64, CacheBytes: 250, KeepEntries: 1000, KeepBytes: 800}
}

// newWorld is a cluster of n nodes.
func newWorld(t failer, n int, cfg Config) *world { return newWorldOf(t, n, n, cfg) }

// newWorldOf is a cluster that began with the first of some nodes; the others may join.
func newWorldOf(t failer, founders, all int, cfg Config) *world {
	w := &world{
		t: t, cfg: cfg, values: map[Slot]string{}, votes: map[Slot]map[ballot.Ballot]*quorum.Set{},
		said: map[Slot]map[ballot.Ballot]string{}, ballots: map[ballot.Ballot]bool{},
	}
	w.cfg.MembershipOf, w.base = membershipOf, base(founders)
	for i := range all {
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
	core, err := New(cfg, w.knownTo(n), n.disk.durable(), n.disk)
	if err != nil {
		w.t.Fatalf("node %d does not start: %v", n.id, err)
	}
	core.Checkpointed(n.stateDB)
	core.Applied(n.stateDB)
	n.core, n.pending, n.applied, n.looked, n.reads = core, nil, n.stateDB, n.stateDB, nil
	w.drain(n)
}

// knownTo is the membership that a node's state database holds, or the bootstrap's; one that joins an old cluster knows
// only whom to ask.
func (w *world) knownTo(n *node) Membership {
	m, entry := w.membershipAt(n.stateDB)
	if !entry && !w.base.Voters.Has(n.id) {
		m = Membership{NonVoters: w.base.Voters.IDs()}
	}
	m.Slot = n.stateDB
	return m
}

// membershipAt is the newest membership in the chosen slots through s, and whether an entry has brought it.
func (w *world) membershipAt(s Slot) (Membership, bool) {
	for ; s > 0; s-- {
		if m, ok := membershipOf([]byte(w.values[s])); ok {
			return m, true
		}
	}
	return w.base, false
}

// install gives a node that is behind the newest state database of all, in place of the log below it. The run ends with
// it.
func (w *world) install(n *node) {
	from := slices.MaxFunc(w.nodes, func(a, b *node) int { return cmp.Compare(a.stateDB, b.stateDB) })
	if !behind(n.core) || from.stateDB <= n.applied {
		return
	}
	n.stateDB = from.stateDB
	n.disk.apply(Persist{Truncate: from.stateDB, Chosen: from.stateDB})
	w.copies++
	w.start(n)
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
	n.core.Persisted(seq)
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
	case KindAccept, KindMark, KindLearn:
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
	by, _ := w.membershipAt(e.Slot - 1)
	for b, set := range w.votes[e.Slot] {
		if quorum.Reached(by.Voters, *set) {
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
	if _, ok := membershipOf(e.Value); ok {
		w.changes++
	}
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
	if !w.tryElect(n, 400) {
		w.t.Fatalf("node %d does not come to lead: %v %v", n.id, n.core.Phase(), n.core.Ballot())
	}
}

// tryElect makes n, and no other node, try to lead for some time.
func (w *world) tryElect(n *node, ticks int) bool {
	w.t.Helper()
	for _, o := range w.nodes {
		o.core.Retire()
		w.drain(o)
	}
	w.lead(n)
	for range ticks {
		w.round()
		if n.core.Phase() == Leading {
			return true
		}
		if n.core.Preempted() {
			w.lead(n)
		}
		w.tick()
		w.install(n)
		if n.core.Phase() == Following {
			w.lead(n)
		}
	}
	return false
}

// settle runs a healthy cluster until a fresh value is chosen and applied by all members. n leads it, or the next voter
// that can.
func (w *world) settle(n *node) {
	w.t.Helper()
	m, _ := w.membershipAt(w.top)
	for i := 0; i < 3*len(w.nodes) && (!m.Voters.Has(n.id) || !w.tryElect(n, 40)); i++ {
		n = w.nodes[int(n.id)%len(w.nodes)]
		m, _ = w.membershipAt(w.top)
	}
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
		if n.core.Preempted() { // by a non-voter that was promised more, whom nobody asks in Phase 1
			w.lead(n)
			slot = 0
		}
		m := n.core.Membership()
		done := slot > 0
		for _, o := range w.nodes {
			w.install(o)
			if (m.Voters.Has(o.id) || slices.Contains(m.NonVoters, o.id)) && o.applied < slot {
				done = false
			}
		}
		if done {
			return
		}
	}
	for _, n := range w.nodes {
		fmt.Printf("node %d: %v chosen %d applied %d last %d truncated %d behind %v %+v\n", n.id, n.core.Phase(),
			n.core.Chosen(), n.applied, n.core.Last(), n.core.Truncated(), behind(n.core), n.core.Membership())
	}
	w.t.Fatalf("no progress: slot %d is not applied everywhere", slot)
}
