package kv

import (
	"time"
)

// executor carries out commands on the entries and the registers. It is what a transaction that fails puts back.
type executor struct {
	ledger
	limits  Limits
	entries entries
	reg     registers
}

// begin starts a command, and returns CodeDone if its fence, if it has one, lets it through.
func (x *executor) begin(c *Command) Code {
	x.stamped = false
	if c.Fence == "" || c.Op == OpDropFence {
		return CodeDone
	}
	return x.reg.fences.pass(c.Fence, c.Token, x.limits.Fences, &x.reg.changes)
}

// execute runs a command that is no compound, or a part of one.
func (x *executor) execute(c *Command) (Result, error) {
	switch c.Op {
	case OpSet:
		return x.set(c)
	case OpDelete:
		return x.delete(c)
	case OpPrune:
		return x.prune(c)
	case OpRename:
		return x.rename(c)
	case OpSessionCreate:
		return x.reg.sessions.create(c, x.limits.Sessions, &x.reg.changes, &x.ledger), nil
	case OpSessionDestroy, OpEndSession:
		return x.endSession(c)
	case OpSessionRenew:
		return x.reg.sessions.renew(c, &x.reg.changes, &x.ledger), nil
	case OpDropFence:
		x.reg.fences.drop(c, &x.reg.changes)
		return x.unchanged(CodeDone), nil
	case OpEndKey:
		return x.expireKey(c)
	case OpEndDelay:
		return x.reg.times.endDelay(c, &x.reg.changes, &x.ledger), nil
	case OpNewEra:
		return x.reg.fences.newEra(&x.ledger), nil
	case OpQuota:
		return x.reg.quotas.set(c, &x.entries, &x.limits, &x.ledger)
	case OpLevel:
		return x.reg.raise(c, &x.ledger)
	case OpStage:
		return x.reg.staged.stage(c, x.reg.level, &x.reg.changes, &x.ledger), nil
	case OpDropStaged:
		return x.reg.staged.drop(c, &x.reg.changes, &x.ledger), nil
	case OpPutAll:
		return x.putAll(c)
	case OpAdd:
		return x.add(c)
	case OpAppend:
		return x.appendTo(c)
	case OpSetTTL:
		return x.setTTL(c)
	case OpFetch, OpMeasure:
		return x.measure(c)
	case OpGet, OpGetOrEmpty:
		return x.look(c)
	case OpGetTree:
		return x.tree(c)
	case OpCheckIndex, OpCheckSession, OpCheckNotExists, OpCheckValue, OpCheckUnchanged:
		return x.check(c)
	}
	return x.executeACL(c), nil
}

// executeACL runs a command on tokens or policies.
func (x *executor) executeACL(c *Command) Result {
	a := aclChange{ledger: &x.ledger, acl: x.reg.acl, changes: &x.reg.changes, limits: &x.limits}
	r := a.execute(c)
	x.reg.acl = a.acl
	return r
}

// place makes e the newest of its key. old is what was there, zero for nothing.
func (x *executor) place(e, old *Entry) {
	x.entries.put(e.Key, e)
	x.notes.replaced(old, x.revision)
	x.reg.quotas.charge(grows(e.Key, e, old))
	if e.Session != old.Session {
		if old.Session != "" {
			x.reg.sessions.unhold(old.Session, e.Key, &x.reg.changes)
		}
		if e.Session != "" {
			x.reg.sessions.hold(e.Session, e.Key, &x.reg.changes)
		}
	}
	x.notes.key(x.revision, e.Key, e)
}

// erase deletes a key that is there, with what hangs on it.
func (x *executor) erase(d doomed) {
	revision := x.stamp()
	x.entries.put(d.key, nil)
	x.reg.quotas.charge(growth{key: d.key, bytes: -int64(len(d.key) + d.valueBytes), keys: -1})
	x.reg.tombstones.add(d.key, revision, x.limits.Tombstones)
	if d.session != "" {
		x.reg.sessions.unhold(d.session, d.key, &x.reg.changes)
	}
	x.setExpiry(d.key, d.ttl, 0)
	x.notes.key(x.revision, d.key, nil)
}

// setExpiry makes ttl the time of key from the command on, or ends it if ttl is 0. was is its time so far.
func (x *executor) setExpiry(key string, was, ttl time.Duration) {
	x.notes.time(x.reg.times.setExpiry(key, was, ttl, x.revision, &x.reg.changes))
}

// savepoint is the way back to where a transaction, or a step that writes several keys, began.
type savepoint struct {
	revision uint64
	stamped  bool
	active   *memtable
	bytes    int64
	reg      registers
	notes    notesMark
}

func (x *executor) save() savepoint {
	return savepoint{revision: x.revision, stamped: x.stamped, active: x.entries.active.Copy(), bytes: x.entries.bytes,
		reg: x.reg.copy(), notes: x.notes.mark()}
}

func (x *executor) restore(p savepoint) {
	x.revision, x.entries.active, x.entries.bytes, x.reg = p.revision, p.active, p.bytes, p.reg
	x.stamped = p.stamped
	x.notes.backTo(p.notes)
}
