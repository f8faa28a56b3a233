package sim

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
)

// oracle applies every chosen slot once, when it is first called chosen, on a state of its own. Its results are those
// of all nodes, with the true time before which nobody can have known of them.
//
// It checks the promises about time. A session, a key or a lock-delay that the log ends has had its time: since it last
// began anew, and since the barrier entry of the epoch whose master ended it. Nobody acquires a locked key, nor a key
// of an ended session within its lock-delay. Checks that need clocks within the promise are left out in runs without
// such clocks.
type oracle struct {
	*engine
	ledger   *ledger
	masters  *masters
	owners   *leaseOwners
	members  *memberHistory
	uploads  *uploads
	state    *kv.State
	applied  multipaxos.Slot
	barriers []barrier // by slot

	times    map[timeName]times    // of everything that ever had one; never ranged over
	sessions map[string]kv.Session // every one that there was; never ranged over
	alive    map[string]bool       // never ranged over
	locks    []lockFacts           // by key, in the order in which they were first seen
	changes  []kv.Changed          // of the batch that is being applied
}

type timeName struct {
	kind kv.TimedKind
	name string
}

// times are the newest beginning of a time, and the newest in an earlier slot: a command that ends a time names the
// latter, if its own slot begins it anew before it.
type times struct{ now, before runs }

// runs is one beginning of a time.
type runs struct {
	arm   uint64
	slot  multipaxos.Slot
	since time.Duration
	after time.Duration
}

// lockFacts is what happened to a lock last.
type lockFacts struct {
	key    string
	holder string
	freed  time.Duration // when the session that held it ended
	delay  time.Duration // its lock-delay
}

func newOracle(g *engine, l *ledger, m *masters, owners *leaseOwners, uploads *uploads) *oracle {
	o := &oracle{engine: g, ledger: l, masters: m, owners: owners, members: l.members, uploads: uploads, times: map[timeName]times{},
		sessions: map[string]kv.Session{}, alive: map[string]bool{}}
	var err error
	if o.state, err = kv.Open(kv.NewMemStateDB(), g.plan.limits); err != nil {
		g.fail("error", "the oracle: %v", err)
	}
	o.state.Observe(kv.Observer{Changed: func(c kv.Changed) { o.changes = append(o.changes, c) }, Timed: o.timed})
	return o
}

// The first byte of a value in the log, as package replica writes them.
const (
	tagBatch   = 1
	tagOpen    = 2
	tagMembers = 3
)

// advance applies what is chosen without a gap.
func (o *oracle) advance() {
	l := o.ledger
	for int(o.applied) < len(l.slots) && l.slots[o.applied].chosen {
		value := l.slots[o.applied].value
		o.applied++
		switch {
		case len(value) == 0:
			o.apply(nil)
		case value[0] == tagOpen:
			o.barriers = append(o.barriers, barrier{uint64(o.applied), o.now})
			o.apply(nil)
		case value[0] == tagMembers:
			r := o.members.chosen(o.applied, value[1:])
			if err := o.state.SetMembers(uint64(o.applied), value[1:], uint64(r.Membership.Era)); err != nil {
				o.fail("error", "the oracle, slot %d: %v", o.applied, err)
			}
		case value[0] == tagBatch:
			o.apply(value[1:])
		}
	}
}

func (o *oracle) apply(batch []byte) {
	o.changes = o.changes[:0]
	before := o.state.Revision()
	results, err := o.state.Apply(uint64(o.applied), batch)
	if err != nil {
		o.fail("error", "the oracle, slot %d: %v", o.applied, err)
	}
	i := 0
	err = kv.DecodeBatch(batch, func(cmd []byte) bool {
		if c, err := kv.DecodeCommand(cmd); err == nil && results[i].Code == kv.CodeDone {
			if c.Op == kv.OpSessionCreate {
				o.sessions[c.Session.ID] = c.Session
			}
			if c.Op == kv.OpNewEra {
				o.owners.allotted(c.IdemKey, uint32(results[i].Count))
			}
			if c.Op == kv.OpInstall {
				o.uploads.applied(o.applied, c.Session.ID, before, results[i].Revision)
			}
			o.ended(&c)
		}
		before = max(before, results[i].Revision)
		i++
		return true
	})
	if err != nil {
		o.fail("error", "the oracle, slot %d: %v", o.applied, err)
	}
	for i, from := 0, 0; i < len(o.changes); i++ {
		if o.changes[i].Last {
			o.follow(o.changes[from : i+1])
			from = i + 1
		}
	}
}

// timed notes when a time began.
func (o *oracle) timed(t kv.Timed) {
	if t.After > 0 {
		name := timeName{t.Kind, t.Name}
		old := o.times[name]
		if old.now.slot != o.applied { // a slot may begin a time more than once
			old.before = old.now
		}
		old.now = runs{t.Arm, o.applied, o.now, t.After}
		o.times[name] = old
	}
}

// ended checks a command of the log that ended something because its time was over.
func (o *oracle) ended(c *kv.Command) {
	var name timeName
	switch c.Op {
	case kv.OpEndSession:
		name = timeName{kv.TimedSession, c.Session.ID}
	case kv.OpEndKey:
		name = timeName{kv.TimedKey, c.Key}
	case kv.OpEndDelay:
		name = timeName{kv.TimedDelay, c.Key}
	default:
		return
	}
	all := o.times[name]
	t := all.now
	if t.arm != c.Arm && t.slot == o.applied {
		t = all.before // the newer one began behind it in this slot
	}
	if t.arm != c.Arm || t.after == 0 {
		o.fail("only what runs ends", "slot %d ended %+v of %d, and it was begun anew with %d", o.applied, name, c.Arm,
			t.arm)
	}
	o.counts.Ends++
	master, at := o.ledger.proposed(o.applied)
	opened := o.epochOpened(master, at)
	if o.plan.clocked() && at-max(t.since, opened) < o.least(t.after) {
		o.fail("nothing ends before its time", "slot %d ended %+v, which has %v; node %d proposed that %v after it "+
			"began anew and %v after its epoch was opened", o.applied, name, t.after, master, at-t.since, at-opened)
	}
}

// barrier is when a barrier entry was chosen.
type barrier struct {
	slot uint64
	at   time.Duration
}

// epochOpened returns when the epoch was opened in which a node proposed something at a time: its newest epoch, until
// then, in which it was seen ready. Only a ready master logs ends. A later master may recover its entries behind the
// barrier entries of others: so neither the newest epoch counts nor the time when the end is chosen.
func (o *oracle) epochOpened(master ballot.NodeID, at time.Duration) time.Duration {
	for i := len(o.barriers) - 1; i >= 0; i-- {
		if m := o.masters.epochs[o.barriers[i].slot]; m != nil && m.id == master && o.barriers[i].at <= at {
			return o.barriers[i].at
		}
	}
	return 0
}

// least returns the true time in which a clock that keeps its promise may count d.
func (o *oracle) least(d time.Duration) time.Duration {
	drift := o.plan.timing.DriftPPM
	if o.plan.clocks.on {
		drift *= 2 // one that errs, before it is out
	}
	return time.Duration(int64(d)/(million+drift)*million) - time.Microsecond
}

// follow takes in what one revision changed: the ends of sessions first, for what they held is freed with them.
func (o *oracle) follow(changes []kv.Changed) {
	ended := ""
	for _, c := range changes {
		if c.Session == "" {
			continue
		}
		if o.alive[c.Session] {
			ended = c.Session
		}
		o.alive[c.Session] = !o.alive[c.Session]
	}
	for _, c := range changes {
		if c.Session == "" {
			o.held(&c, ended)
		}
	}
	for _, l := range o.locks {
		if ended != "" && l.holder == ended {
			o.fail("locks end with their session", "slot %d ended session %s, and it still holds the lock of %q",
				o.applied, ended, l.key)
		}
	}
}

// held follows the lock of one key.
func (o *oracle) held(c *kv.Changed, ended string) {
	holder := ""
	if c.Entry != nil {
		holder = c.Entry.Session
	}
	l := o.lock(c.Key, holder != "")
	if l == nil || l.holder == holder {
		return
	}
	if holder != "" {
		o.acquired(l, holder)
	} else if l.holder == ended {
		l.freed, l.delay = o.now, o.sessions[ended].LockDelay
	}
	l.holder = holder
}

// acquired checks that a lock was there to be acquired.
func (o *oracle) acquired(l *lockFacts, holder string) {
	o.counts.Locks++
	if l.holder != "" {
		o.fail("one holder", "slot %d gives the lock of %q to %s, and %s holds it", o.applied, l.key, holder, l.holder)
	}
	if !o.alive[holder] {
		o.fail("only sessions lock", "slot %d gives the lock of %q to %s, which is no session", o.applied, l.key,
			holder)
	}
	if l.delay > 0 && o.plan.clocked() && o.now-l.freed < o.least(l.delay) {
		o.fail("lock-delay",
			"slot %d gives the lock of %q to %s %v after a session with a lock-delay of %v ended that held it",
			o.applied, l.key, holder, o.now-l.freed, l.delay)
	}
	l.delay = 0
}

// lock returns what is known of a key's lock. One that was never locked is only made if it must be.
func (o *oracle) lock(key string, must bool) *lockFacts {
	i := slices.IndexFunc(o.locks, func(l lockFacts) bool { return l.key == key })
	if i < 0 && must {
		i = len(o.locks)
		o.locks = append(o.locks, lockFacts{key: key})
	}
	if i < 0 {
		return nil
	}
	return &o.locks[i]
}
