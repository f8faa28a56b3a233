package sim

import (
	"fmt"
	"time"

	"tenure/jepsen/history"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// Uploads (PUT /v1/snapshot): somebody takes a backup of the state database of a node, keeps it for a while, and
// replaces the state of the cluster by it. To whoever reads and writes registers that is a write of every key at once,
// and so it is put into their history. Besides, the oracle checks that the revision jumps. The uploader checks that the
// cluster forgets its idempotency keys: a copy of a write from before is not applied any more.
//
// Such runs have no lockers: what an upload does to sessions and locks is for the tests of package kv.

// uploadPlan is what a seed draws of uploads.
type uploadPlan struct {
	count int
	every time.Duration // mean time before the next one begins
	held  time.Duration // longest time for which the backup is kept
}

// drawUploads draws from a stream of its own, as drawGuardian does. A state that differs would be everybody's after an
// upload.
func (p *plan) drawUploads(seed uint64) {
	r := stream(seed, 63)
	if !r.chance(200) || p.on(Differ) {
		return
	}
	p.uploads = uploadPlan{count: 1 + r.below(4), every: r.skewed(2*p.lease, 15*p.lease), held: 5 * p.lease}
	p.lockers.count = 0
	p.part.Level = replica.LevelConfig{Newest: 1, Release: "sim"}
}

// uploader does one upload after the other.
type uploader struct {
	caller
	all     *clients
	uploads *uploads
	serial  int
	then    func(*answer) // takes the answer that counts to the command under way
	before  kv.Command    // a keyed write that was applied before the upload
	pieces  [][]byte
	found   map[string]string // values of the backup by key; never ranged over
}

// uploads are those of a run.
type uploads struct {
	*engine
	done []*installed // whose install was asked for
}

// installed is an upload from when its install was asked for.
type installed struct {
	id       string
	client   int
	asked    time.Duration
	told     time.Duration // when the client was told that it is done; 0: it was not
	revision uint64        // of the state that it made; 0: it was never applied
	found    map[string]string
}

// start makes the uploader of the plan.
func (x *uploads) start(c *clients) {
	if x.plan.uploads.count == 0 {
		return
	}
	u := &uploader{all: c, uploads: x, caller: caller{access: c.access, id: 500, random: x.stream(64)}}
	u.took = u.tookAnswer
	u.rest()
}

// rest begins an upload after a while.
func (u *uploader) rest() {
	p := &u.plan.uploads
	if u.serial == p.count {
		return
	}
	u.at(nil, kindClient, u.random.between(p.every/2, 2*p.every), func() {
		if u.phase == phaseFaults {
			u.next()
		}
	})
}

// next takes a backup, and after a while makes a keyed write, which is not to be done again later.
func (u *uploader) next() {
	if !u.backup(u.anyNode(&u.random)) {
		u.rest()
		return
	}
	u.serial++
	u.at(nil, kindClient, u.random.between(0, u.plan.uploads.held), func() {
		u.ask(kv.Command{Op: kv.OpSet, Key: "uploader", Value: []byte(fmt.Sprint(u.serial)),
			IdemKey: fmt.Sprintf("before-%d", u.serial), Base: u.newest}, func(*answer) {
			u.before = u.command
			u.stage(0)
		})
	})
}

// backup takes the pieces of a node's state database, if it can be read.
func (u *uploader) backup(n *node) bool {
	d := n.disk
	if d.checkpointed() == 0 || d.parted != nil || d.rotten() {
		return false
	}
	slot, record, _ := d.stateDB.Loaded()
	pieces, err := kv.NewPieces(slot, record)
	if err != nil {
		u.fail("error", "the state database of node %d has a bad meta record: %v", n.id, err)
	}
	view, _ := d.stateDB.View()
	defer view.Close()
	u.found = map[string]string{}
	for s := range kv.RecordKind(255) {
		if _, ok := s.Staged(); !ok {
			continue
		}
		_ = view.Ascend(s, nil, func(key, value []byte) bool {
			err = pieces.Add(kv.Change{Kind: s, Key: key, Value: value})
			return err == nil
		})
	}
	if err != nil {
		u.fail("error", "the state of node %d finds no place in an upload: %v", n.id, err)
	}
	u.pieces = pieces.List()
	state, err := kv.Open(d.stateDB.Clone(), u.plan.limits)
	if err != nil {
		u.fail("error", "the state of node %d: %v", n.id, err)
	}
	for _, key := range u.all.keys.all() {
		if e, ok, _ := state.Get(key); ok {
			u.found[key] = string(e.Value)
		}
	}
	return true
}

// upload is the upload under way.
func (u *uploader) upload() kv.Session {
	return kv.Session{ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", u.id, u.serial)}
}

// stage sends a piece after the other, and then asks for the install. An upload that somebody has ended is given up.
func (u *uploader) stage(n int) {
	if n == len(u.pieces) {
		u.install()
		return
	}
	u.ask(kv.Command{Op: kv.OpStage, Session: u.upload(), Num: int64(n), Value: u.pieces[n]}, func(ans *answer) {
		if ans.result.Code != kv.CodeDone {
			u.counts.UploadsLost++
			u.rest()
			return
		}
		u.stage(n + 1)
	})
}

// install has the state replaced.
func (u *uploader) install() {
	x := &installed{id: u.upload().ID, client: u.id, asked: u.now, found: u.found}
	u.uploads.done = append(u.uploads.done, x)
	u.ask(kv.Command{Op: kv.OpInstall, Session: u.upload(), Num: int64(len(u.pieces)),
		IdemKey: fmt.Sprintf("install-%d", u.serial), Base: u.newest}, func(ans *answer) {
		if ans.result.Code == kv.CodeDone {
			x.told = u.now
			if x.revision != ans.result.Revision {
				u.fail("uploads", "upload %s is told revision %d, and was installed at %d", x.id, ans.result.Revision, x.revision)
			}
		}
		u.again(x)
	})
}

// again sends the write from before the upload once more. If the state was replaced it must not be done.
func (u *uploader) again(x *installed) {
	u.ask(u.before, func(ans *answer) {
		if x.revision != 0 && ans.result.Code != kv.CodeKeyTooOld {
			u.fail("exactly once", "a copy of a write from before upload %s gets %q (%d) after it", x.id, ans.result.Code,
				ans.result.Revision)
		}
		u.rest()
	})
}

// ask asks for a command until there is an answer. A copy of any of its commands does nothing.
func (u *uploader) ask(c kv.Command, then func(*answer)) {
	u.command, u.then = c, then
	u.via = u.anyNode(&u.random)
	u.once()
}

func (u *uploader) once() {
	u.try(u.caller.begin(write, u.command.Key), u.plan.clients.timeout)
}

// tookAnswer takes the answer to an attempt.
func (u *uploader) tookAnswer(ans *answer) {
	if ans.outcome == replica.Done {
		u.newest = max(u.newest, ans.result.Revision)
		u.then(ans)
		return
	}
	if u.phase > phaseSettling { // it has been given up
		return
	}
	u.via = u.anyNode(&u.random)
	u.at(nil, kindClient, u.random.skewed(time.Millisecond, u.plan.lease/2), u.once)
}

// applied is told by the oracle that an install was chosen and is done, and the revisions of the state before it and of
// its result. A copy that comes later has the result of the first.
func (x *uploads) applied(s multipaxos.Slot, id string, before, after uint64) {
	for _, u := range x.done {
		switch {
		case u.id != id:
		case u.revision == after:
			return
		case u.revision != 0:
			x.fail("uploads", "slot %d installs upload %s at revision %d, and it was installed at %d", s, id, after, u.revision)
		case after <= before || after-before < kv.InstallRevisions:
			x.fail("uploads", "slot %d installs upload %s, and the revision goes from %d to %d", s, id, before, after)
		default:
			u.revision = after
			x.counts.Uploads++
			return
		}
	}
	x.fail("uploads", "slot %d installs upload %s, which nobody asked for", s, id)
}

// history returns ops with a write of every key by each upload that was installed.
func (x *uploads) history(ops []history.Op) []history.Op {
	seen := map[string]bool{} // never ranged over
	var keys []string
	for i := range ops {
		if k := ops[i].Key; !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for _, u := range x.done {
		if u.revision == 0 {
			continue
		}
		for _, k := range keys {
			op := history.Op{Client: u.client, Key: k, Kind: history.Delete, Outcome: history.OK, Call: u.asked,
				Return: history.Forever}
			if u.told > 0 {
				op.Return = u.told
			}
			if value, ok := u.found[k]; ok {
				op.Kind, op.Value, op.Result = history.Put, value, u.revision
			}
			ops = append(ops, op)
		}
	}
	return ops
}
