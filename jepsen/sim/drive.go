package sim

import (
	"bytes"
	"errors"
	"time"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/storage/journal"
)

// drive is a node's disk at work: the writes that the process has asked for, their durations, and the disk's faults.
type drive struct {
	*machine
	*disk
	times  *random // shared by all drives: how long they take, and what a crash leaves
	ledger *ledger

	slow   time.Duration // on top of every commit
	stall  time.Duration // on top of the next commit
	eio    bool          // the next commit fails
	space  replica.Space
	frozen bool          // it answers nothing
	hangs  bool          // and then the log loop waits for it, when it comes to use the state database
	owed   []owed        // what it would have answered
	synced time.Duration // true time at which its newest commit ended
	wiped  bool          // the disk was replaced by an empty one

	work
}

// work is what a process has asked of the disk. A crash loses it, but for what loseWrites decides.
type work struct {
	waiting       []multipaxos.Persist
	committing    []multipaxos.Persist
	moving        uint64 // log.db takes the journal's records up to this number; 0: it takes none
	checkpointing *kv.Frozen
}

// owed is an answer that a frozen disk owes.
type owed struct {
	run  uint64
	kind kind
	do   func()
}

// ends schedules do for when the disk has finished something, after d. A frozen disk keeps it until it thaws.
func (d *drive) ends(k kind, after time.Duration, do func()) {
	d.later(k, after, func() {
		if !d.owes(k, do) {
			do()
		}
	})
}

// owes reports whether the disk is frozen. If so, do happens when it thaws, in the present run only unless it is a
// start.
func (d *drive) owes(k kind, do func()) bool {
	if d.frozen {
		d.owed = append(d.owed, owed{run: d.run, kind: k, do: do})
	}
	return d.frozen
}

// thaw has the disk answer again, and answer what it owes.
func (d *drive) thaw(r *random) {
	if !d.frozen {
		return
	}
	d.frozen = false
	list := d.owed
	d.owed = nil
	for _, o := range list {
		to := d.machine
		if o.kind == kindStart {
			to = nil // no process runs yet
		} else if o.run != d.run {
			continue
		}
		d.at(to, o.kind, r.between(10*time.Microsecond, time.Millisecond), o.do)
	}
	if d.trace.on() {
		d.trace.note("the disk of node %d answers again", d.id)
	}
}

// mustBeSound checks that a bad record that was read was reported.
func (d *drive) mustBeSound() {
	if d.noticed {
		d.fail("damage served", "node %d read a bad record and went on", d.id)
	}
}

// mustBeRot checks that what a part complains of is bad.
func (d *drive) mustBeRot(err error) {
	if !d.noticed || !errors.Is(err, errRot) {
		d.fail("error", "node %d: %v", d.id, err)
	}
}

// heal ends everything that is wrong but being frozen.
func (d *drive) heal() {
	d.slow, d.stall, d.eio, d.space = 0, 0, false, replica.SpaceEnough
}

// wipe replaces the disk by an empty one, whose store belongs to nobody.
func (d *drive) wipe() {
	d.wiped = true
	d.disk = newDisk(ident.StoreID{byte(d.id), 2})
}

// beginCommit begins a commit of everything that waits, unless one is going on. It returns how long the commit takes, 0
// if there is none.
func (d *drive) beginCommit() time.Duration {
	if len(d.committing) > 0 || len(d.waiting) == 0 {
		return 0
	}
	d.committing, d.waiting = d.waiting, nil
	takes := d.times.skewed(50*time.Microsecond, d.plan.commit) + d.slow
	if d.stall > 0 {
		d.effect(StallDisk)
		takes, d.stall = takes+d.stall, 0
	}
	return takes
}

var errIO = errors.New("sim: the commit fails")

// endCommit makes the commit durable and returns the number of its last Persist. After errIO nobody knows what is on
// the disk; errRot is damage.
func (d *drive) endCommit() (seq uint64, err error) {
	if d.eio {
		d.eio = false
		d.effect(EIO)
		return 0, errIO
	}
	d.commitAll(d.committing)
	d.synced = d.now
	if d.noticed {
		return 0, errRot
	}
	d.beginMove()
	seq = d.committing[len(d.committing)-1].Seq
	d.committing = nil
	return seq, nil
}

// commitAll makes ps durable.
func (d *drive) commitAll(ps []multipaxos.Persist) {
	r := d.record(ps)
	if d.apply(ps); d.noticed {
		return
	}
	if err := d.write(r); err != nil {
		d.fail("journal", "node %d: %v", d.id, err)
	}
}

// apply takes note of what a commit makes durable, and checks what storage would refuse and what no acceptor may write.
// A record is checked before it is replaced: if one is bad, nothing of the commit is on the disk.
func (d *drive) apply(ps []multipaxos.Persist) {
	if d.meetsRot(ps) {
		d.noticed = true
		return
	}
	for i := range ps {
		p := &ps[i]
		before := d.marks.Promised
		if err := d.disk.commit(p); err != nil {
			d.fail("disk", "node %d: %v", d.id, err)
		}
		d.ledger.promise(d.i, p.Promised)
		for j := range p.Entries {
			d.ledger.vote(d.machine, &p.Entries[j], before)
		}
	}
}

// meetsRot reports whether a commit replaces the record that is bad.
func (d *drive) meetsRot(ps []multipaxos.Persist) bool {
	for i := range ps {
		for j := range ps[i].Entries {
			if s := ps[i].Entries[j].Slot; s == d.rotSlot && s <= d.marks.Last {
				return true
			}
		}
	}
	return false
}

// holds reports whether the value of e is in its slot on the disk, or on its way there.
func (d *drive) holds(e multipaxos.Entry) bool {
	if old, ok := d.entries[e.Slot]; ok && bytes.Equal(old.Value, e.Value) {
		return true
	}
	for _, ps := range [...][]multipaxos.Persist{d.committing, d.waiting} {
		for i := range ps {
			for _, old := range ps[i].Entries {
				if old.Slot == e.Slot && bytes.Equal(old.Value, e.Value) {
					return true
				}
			}
		}
	}
	return false
}

// beginMove has log.db take the oldest records of the journal: when it is full, and at other times, then none too, so
// that log.db only notes how far the journal is.
func (d *drive) beginMove() {
	n := len(d.pending)
	if d.moving > 0 || n == 0 || d.pendingBytes() < ringBytes/4 && !d.times.chance(50) {
		return
	}
	d.moving = d.pending[n-1].Number - uint64(d.times.below(n+1))
	d.ends(kindMove, d.times.skewed(d.plan.commit, 4*d.plan.commit), d.endMove)
}

func (d *drive) endMove() {
	d.moveHome(d.moving)
	d.moving = 0
	d.counts.Moves++
}

// beginCheckpoint begins to merge a checkpoint, and returns how long that takes. It may merge a part at once: every
// view until the end shows that part, and a crash leaves the rest to the next start.
func (d *drive) beginCheckpoint(f *kv.Frozen) time.Duration {
	d.checkpointing = f
	c, n := f.Checkpoint(), 0
	for range c.Changes {
		n++
	}
	if some := d.times.below(n); some > 0 && d.times.chance(500) && !d.frozen {
		d.mergePart(c, some)
	}
	return d.times.skewed(d.plan.commit, 20*d.plan.commit)
}

// endCheckpoint makes the checkpoint durable.
func (d *drive) endCheckpoint() {
	c := d.checkpointing.Checkpoint()
	d.merge(c)
	d.checkpointing = nil
	d.counts.Checkpoints++
	if d.trace.on() {
		d.trace.note("checkpointed through slot %d", c.Slot)
	}
}

// crash is the end of the process for the disk. What was not committed is lost; a commit under way is whole on the
// disk, or not there, or sectors of it are.
func (d *drive) crash() {
	d.loseWrites()
	if d.checkpointing != nil && d.times.chance(300) {
		d.merge(d.checkpointing.Checkpoint())
	}
	d.work = work{}
}

// loseWrites loses what a crash loses of the journal and log.db, and reads the journal as the next start does. What was
// acknowledged must be there.
func (d *drive) loseWrites() {
	if d.moving > 0 && d.times.chance(500) {
		d.moveHome(d.moving)
	}
	next := d.ring.Last() + 1
	d.cutOff()
	d.file.crash(d.times)
	if d.reopen(); d.refused != nil {
		return
	}
	if d.times.chance(200) { // and again before anything was moved
		k, last := len(d.pending), d.ring.Last()
		d.file.crash(d.times)
		if d.reopen(); len(d.pending) != k || d.ring.Last() != last {
			d.fail("journal", "node %d: %d records through %d, then %d through %d", d.id, k, last, len(d.pending),
				d.ring.Last())
		}
	}
	k := len(d.pending)
	if k > 0 && d.pending[k-1].Number == next && !d.rotten() {
		d.apply(d.committing) // durable, though nobody was told
	}
	d.counts.Replayed += k
	if d.home.at.Journaled+uint64(k) < d.ring.Last() { // a record was cut off
		d.moveHome(d.ring.Last())
	}
	if err := d.compare(); err != nil && !d.rotten() {
		d.fail("acknowledged is durable", "node %d: %v", d.id, err)
	}
}

// cutOff cuts off a commit that is going on.
func (d *drive) cutOff() {
	if len(d.committing) == 0 {
		return
	}
	d.file.dying = true
	r := d.record(d.committing)
	if journal.Size(r) > d.ring.Limit() {
		if d.times.chance(500) { // log.db has it all or nothing
			d.commitAll(d.committing)
		}
		return
	}
	if err := d.write(r); !errors.Is(err, errDying) && err != nil {
		d.fail("journal", "node %d: %v", d.id, err)
	}
	d.counts.Cut++
}

// reopen reads the journal as it is on the disk now.
func (d *drive) reopen() {
	bad := d.file.flipped >= 0
	switch err := d.openRing(); {
	case err == nil && bad:
		d.fail("damage served", "node %d does not notice a bad bit in its journal", d.id)
	case err != nil && bad:
		d.refused = err
	case err != nil:
		d.fail("journal", "node %d: %v", d.id, err)
	}
}
