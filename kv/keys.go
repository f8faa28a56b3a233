package kv

import (
	"errors"
	"time"
)

// The commands that write, move, delete and expire keys. Those that the Redis protocol has too, here and in values.go,
// putall.go and reads.go, may stand alone or be a step of a sequence. They treat a lock as OpSet does: it is advisory,
// and stays. They treat a TTL as Redis does: OpSet, OpPutAll and OpDelete end it unless told otherwise, OpSetTTL sets
// it, and the others keep it.

// set carries out OpSet. Only with a Mode does Result.Count say whether the key was there: a set without any does not
// look at the old entry, which is quicker.
func (x *executor) set(c *Command) (Result, error) {
	if !c.HasIndex && c.Lock == LockNone && c.TTL == 0 && c.Mode == 0 && !x.reg.quotas.cover(c.Key) {
		return x.overwrite(c.Key, c.Value, c.Flags)
	}
	old, found, err := x.entries.before(c)
	if err != nil {
		return Result{}, err
	}
	r := x.setOver(c, &old, found)
	if found && c.Mode != 0 && (r.Code == CodeDone || r.Code == CodeCondition) {
		r.Count = 1
	}
	if found && c.Mode&ModeReturn != 0 && r.Code != CodeQuota {
		r.Body = string(old.Value)
	}
	return r, nil
}

// setOver sets c's key, which old holds if it was found.
func (x *executor) setOver(c *Command, old *Entry, found bool) Result {
	if c.HasIndex && c.Index != old.ModifyIndex || !c.meets(old, found) {
		return x.unchanged(CodeCondition)
	}
	e := &Entry{Key: c.Key, Flags: c.Flags, CreateIndex: old.CreateIndex, LockIndex: old.LockIndex,
		Session: old.Session, TTL: c.TTL}
	if c.Mode&ModeKeep != 0 {
		e.TTL, e.Flags = old.TTL, old.Flags
	}
	if code := x.reg.lock(c, old, e, x.limits.Locks); code != CodeDone {
		return x.unchanged(code)
	}
	if !x.reg.times.mayExpire(old.TTL, e.TTL, x.limits.ExpiringKeys) {
		return x.unchanged(CodeFull)
	}
	if len(c.Value) > 0 {
		e.Value = c.Value
	}
	// A lock is released while a quota is full as it is while a disk is.
	if r, over := x.reg.quotas.refuse(grows(e.Key, e, old), growth{}, &x.ledger); over && !c.Frees() {
		return r
	}
	r := x.renew(e, old)
	if c.Mode&ModeKeep == 0 {
		x.setExpiry(e.Key, old.TTL, e.TTL)
	}
	return r
}

// overwrite carries out a set that only writes the value, and keeps key and value. It looks at the old entry only after
// it has put the new one, which spares the busiest command a search of the memtable.
func (x *executor) overwrite(key string, value []byte, flags uint64) (Result, error) {
	stamped := x.stamped
	revision := x.stamp()
	e := &Entry{Key: key, Flags: flags, CreateIndex: revision, ModifyIndex: revision}
	if len(value) > 0 {
		e.Value = value
	}
	if old, known := x.entries.put(e.Key, e); known {
		x.succeed(e, old)
	} else if old, found, err := x.entries.beneath(key); err != nil {
		x.entries.takeBack(e) // as if it had looked first
		if !stamped {
			x.revision--
		}
		return Result{}, err
	} else if found {
		x.succeed(e, &old)
	}
	x.notes.key(x.revision, e.Key, e)
	return Result{Code: CodeDone, Revision: revision}, nil
}

// succeed takes over from the entry before, nil for a deleted one, what overwriting its value does not change, and ends
// its TTL.
func (x *executor) succeed(e, old *Entry) {
	if old == nil {
		return
	}
	e.CreateIndex, e.LockIndex, e.Session = old.CreateIndex, old.LockIndex, old.Session
	x.notes.replaced(old, x.revision)
	if old.TTL > 0 {
		x.setExpiry(e.Key, old.TTL, 0)
	}
}

func (x *executor) delete(c *Command) (Result, error) {
	old, found, err := x.entries.before(c)
	if err != nil || !found {
		return x.unchanged(CodeDone), err
	}
	r := x.unchanged(CodeCondition)
	if (!c.HasIndex || c.Index == old.ModifyIndex) && c.meetsTimed(&old) {
		x.erase(doom(c.Key, &old))
		r = Result{Code: CodeDone, Revision: x.revision, Count: 1}
	}
	switch {
	case c.Mode&ModeEntry != 0:
		r.Body = EncodeEntries(old)
	case c.Mode&ModeReturn != 0:
		r.Body = string(old.Value)
	}
	return r, nil
}

// doomed is a key that is being deleted, and what hangs on it.
type doomed struct {
	key, session string // the session that has locked it, or ""
	ttl          time.Duration
	valueBytes   int // 0 also if no quota needs to know
}

// doom returns what the deletion of key, which has the entry e, must know.
func doom(key string, e *Entry) doomed {
	return doomed{key: key, session: e.Session, ttl: e.TTL, valueBytes: len(e.Value)}
}

// prune finds the keys first and deletes them then, for a scan must not see its own tombstones come.
func (x *executor) prune(c *Command) (Result, error) {
	var keys []doomed
	var broken error
	unmet := false
	bare := !c.HasIndex && x.reg.sessions.held.Len()+x.reg.times.expiry.Len()+x.reg.quotas.byPrefix.Len() == 0
	err := x.entries.scan(span{lo: c.Key, hi: prefixEnd(c.Key)}, func(h *hit) bool {
		d := doomed{key: h.name()}
		if !bare {
			var e Entry
			e, broken = h.peek()
			d = doom(d.key, &e)
			unmet = c.HasIndex && e.ModifyIndex > c.Index
		}
		keys = append(keys, d)
		return broken == nil && !unmet && len(keys) <= x.limits.PruneKeys
	})
	switch {
	case err != nil || broken != nil:
		return Result{}, errors.Join(err, broken)
	case unmet:
		return x.unchanged(CodeCondition), nil
	case len(keys) > x.limits.PruneKeys:
		return x.unchanged(CodeTooMany), nil
	}
	for _, d := range keys {
		x.erase(d)
	}
	return Result{Code: CodeDone, Revision: x.revision, Count: uint64(len(keys))}, nil
}

// rename moves value, flags and TTL, which starts anew; index and lock are of a key and stay. A lock says that somebody
// relies on a key, so a key that is locked is neither moved nor overwritten.
func (x *executor) rename(c *Command) (Result, error) {
	from, err := x.entries.entry(c.Key)
	if err != nil || from == nil {
		return x.unchanged(CodeMissing), err
	}
	to, found, err := x.entries.indexes(c.NewKey)
	switch {
	case err != nil:
		return Result{}, err
	case found && c.Mode&ModeAbsent != 0:
		r := x.unchanged(CodeCondition)
		r.Count = 1 // there is one: the names are not locked
		return r, nil
	case c.NewKey == c.Key:
		return x.unchanged(CodeDone), nil
	}
	if from.Session != "" || to.Session != "" {
		return x.unchanged(CodeCondition), nil
	}
	e := &Entry{Key: c.NewKey, Value: from.Value, Flags: from.Flags, LockIndex: to.LockIndex, TTL: from.TTL}
	if r, over := x.reg.quotas.refuse(grows(e.Key, e, &to), grows(c.Key, nil, from), &x.ledger); over {
		return r, nil
	}
	x.erase(doom(c.Key, from))
	e.CreateIndex, e.ModifyIndex = x.revision, x.revision
	if found {
		e.CreateIndex = to.CreateIndex
	}
	x.place(e, &to)
	x.setExpiry(e.Key, to.TTL, e.TTL)
	return Result{Code: CodeDone, Revision: x.revision}, nil
}

// setTTL carries out OpSetTTL. Result.Count is 1 if the key is there.
func (x *executor) setTTL(c *Command) (Result, error) {
	old, err := x.entries.entry(c.Key)
	if err != nil || old == nil {
		return x.unchanged(CodeMissing), err
	}
	r := Result{Code: CodeDone, Count: 1}
	switch {
	case !c.meetsTimed(old):
		r.Code = CodeCondition
	case !x.reg.times.mayExpire(old.TTL, c.TTL, x.limits.ExpiringKeys):
		r = Result{Code: CodeFull}
	default:
		e := *old
		e.TTL, e.ModifyIndex = c.TTL, x.stamp()
		x.place(&e, old)
		x.setExpiry(e.Key, old.TTL, e.TTL)
	}
	r.Revision = x.revision
	if c.Mode&ModeReturn != 0 {
		r.Body = string(old.Value)
	}
	return r, nil
}

// expireKey deletes c's key if its TTL is still the one that c means.
func (x *executor) expireKey(c *Command) (Result, error) {
	t, runs := x.reg.times.expiry.Get(c.Key)
	if !runs || t.arm != c.Arm {
		return x.unchanged(CodeCondition), nil
	}
	old, found, err := x.entries.indexes(c.Key)
	if err != nil {
		return Result{}, err
	}
	if !found || old.TTL != t.after {
		return Result{}, damaged("key %q is said to expire after %v, which it does not", c.Key, t.after)
	}
	x.erase(doom(c.Key, &old))
	x.notes.expired()
	return Result{Code: CodeDone, Revision: x.revision, Count: 1}, nil
}
