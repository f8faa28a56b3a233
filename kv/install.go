package kv

import (
	"math"

	"github.com/tidwall/btree"
)

// install carries out OpInstall. It replaces entries, sessions, locks and times by those of the upload, all at one
// revision, which is InstallRevisions above all revisions of both states. The members, the feature level, the quotas,
// tokens and policies stay, and each fence keeps the larger token. The quotas count the uploaded keys, even beyond
// their limits. Every idempotency key is forgotten, and F rises with the revision: a retry of a command that was
// applied before the install, or in the uploaded state, is refused.
//
// Entries get the new revision as their ModifyIndex, so that no condition on an index that was read before holds, and
// every watch and blocking query returns.
func (s *State) install(c *Command) (Result, error) {
	x := &s.exec
	up := &x.reg.staged
	switch {
	case up.id == "" || c.Session.ID != up.id:
		return x.unchanged(CodeMissing), nil
	case int64(len(up.pieces)) != c.Num:
		return x.unchanged(CodeCondition), nil
	}
	u, ok := up.read()
	if !ok {
		return x.unchanged(CodeMalformed), nil
	}
	base, eras := max(x.revision, u.meta.Revision), max(x.reg.fences.eras, u.meta.Eras)
	if base >= math.MaxUint64-InstallRevisions-1 || eras > maxEra-InstallEras {
		return x.unchanged(CodeTooLarge), nil
	}
	if code, err := replaceable(&x.entries, x.reg.sessions.byID.Len()); code != CodeDone || err != nil {
		return x.unchanged(code), err
	}
	renewals := x.reg.sessions.renewals()
	up.end(&x.reg.changes, &x.notes)
	x.revision = base + InstallRevisions
	s.dedup.forgetAll(x.revision)
	revision := x.stamp()
	x.reg.clear(revision, &x.notes)
	x.reg.quotas.reset(&x.notes)
	x.reg.fences.eras = eras + InstallEras
	x.install(&u, renewals)
	err := x.entries.eraseOlder(revision, &x.notes)
	return Result{Code: CodeDone, Revision: revision, Count: uint64(len(u.entries))}, err
}

// replaceable returns CodeTooMany if the state has more keys and sessions than an install may replace.
func replaceable(s *entries, sessions int) (Code, error) {
	n := sessions
	err := s.scan(span{}, func(*hit) bool {
		n++
		return n <= MaxInstallKeys
	})
	if n > MaxInstallKeys {
		return CodeTooMany, err
	}
	return CodeDone, err
}

// install puts the upload in place. Older entries are still there; see entries.eraseOlder.
func (x *executor) install(u *upload, renewals map[string]uint64) {
	r, revision := &x.reg, x.revision
	for _, e := range u.sessions {
		e.Renewals = max(e.Renewals, renewals[e.ID]) + 1
		e.CreateIndex, e.ModifyIndex = min(e.CreateIndex, revision), revision
		x.notes.time(r.sessions.put(e, &r.changes))
		x.notes.session(revision, e.ID)
	}
	for _, name := range u.names {
		if token, _ := r.fences.get(name); u.fences[name] >= token {
			r.fences.largest.Set(name, u.fences[name])
			r.changes.set(KindFence, name, appendFence(nil, u.fences[name]))
		}
	}
	r.fences.floors[0] = max(r.fences.floors[0], u.meta.LeaseFloor)
	r.fences.floors[1] = max(r.fences.floors[1], u.meta.KVFloor)
	for _, t := range u.delays {
		x.notes.time(r.times.setDelay(t.Name, t.After, revision, &r.changes))
	}
	for _, e := range u.entries {
		e.CreateIndex, e.ModifyIndex = min(e.CreateIndex, revision), revision
		if !r.sessions.lives(e.Session) {
			e.Session = ""
		}
		x.place(e, &Entry{})
		x.setExpiry(e.Key, 0, e.TTL)
	}
}

// eraseOlder deletes every key that was not written at revision. It makes no tombstones: their floor is already at
// revision.
func (s *entries) eraseOlder(revision uint64, n *notes) error {
	var old []string
	var broken error
	err := s.scan(span{}, func(h *hit) bool {
		var e Entry
		if e, broken = h.peek(); broken == nil && e.ModifyIndex != revision {
			old = append(old, e.Key)
		}
		return broken == nil
	})
	if err == nil {
		err = broken
	}
	for _, key := range old {
		s.put(key, nil)
		n.key(revision, key, nil)
	}
	return err
}

// clear removes the sessions, times and tombstones, which an upload replaces, and notes what ends.
func (r *registers) clear(revision uint64, n *notes) {
	r.sessions.byID.Scan(func(id string, e *Session) bool {
		r.changes.set(KindSession, id, nil)
		if e.TTL > 0 {
			n.time(Timed{Kind: TimedSession, Name: id, Arm: e.Renewals})
		}
		n.session(revision, id)
		return true
	})
	r.sessions.held.Scan(func(key string, _ struct{}) bool { r.changes.set(KindHeld, key, nil); return true })
	end := func(records RecordKind, kind TimedKind, table *btree.Map[string, running]) {
		table.Scan(func(key string, t running) bool {
			r.changes.set(records, key, nil)
			n.time(Timed{Kind: kind, Name: key, Arm: t.arm})
			return true
		})
	}
	end(KindExpiry, TimedKey, r.times.expiry)
	end(KindDelay, TimedDelay, r.times.delays)
	r.sessions, r.times, r.tombstones = newSessions(), newTimes(), newTombstones()
	r.sessions.index, r.tombstones.floor = revision, revision
}
