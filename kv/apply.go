package kv

import (
	"errors"
	"fmt"
	"time"
)

// Apply applies the batch chosen in slot, which must be the next one; it panics otherwise. An empty batch moves the slot
// and nothing else. There is one result for each command, in order; what cannot be decoded gets CodeMalformed, and a
// batch that breaks off gets one more for what is left of it. An error is damage of the image: the node must stop.
// batch is not kept.
func (s *State) Apply(slot uint64, batch []byte) ([]Result, error) {
	if slot != s.applied+1 {
		panic(fmt.Sprintf("kv: slot %d applied after slot %d", slot, s.applied))
	}
	defer s.release()
	results := make([]Result, 0, countCommands(batch))
	for len(batch) > 0 {
		cmd, rest, ok := cutPiece(batch)
		if !ok || len(results) == MaxBatchCommands {
			results = append(results, Result{Code: CodeMalformed, Revision: s.revision})
			break
		}
		r, err := s.applyCommand(cmd)
		if err != nil {
			return results, fmt.Errorf("kv: apply slot %d: %w", slot, err)
		}
		results = append(results, r)
		batch = rest
	}
	s.applied = slot
	return results, nil
}

// applyCommand applies one command, at most once if it has an idempotency key.
func (s *State) applyCommand(cmd []byte) (Result, error) {
	c := &s.command
	*c = Command{}
	if err := decodeCommand(cmd, c); err != nil {
		return Result{Code: CodeMalformed, Revision: s.revision}, nil
	}
	var h sum
	if c.IdemKey != "" {
		h = s.dedup.hash(c)
		if r, fresh := s.dedup.check(c, h, s.revision); !fresh {
			return r, nil
		}
	}
	r, err := s.fenceAndExecute(c)
	if err != nil {
		return Result{}, err
	}
	if c.IdemKey != "" {
		s.dedup.remember(c.IdemKey, h, r)
	}
	s.dedup.forget(s.revision)
	s.tell()
	return r, nil
}

// fenceAndExecute lets a fenced command through only if its fence does.
func (s *State) fenceAndExecute(c *Command) (Result, error) {
	s.stamped = false
	if c.Fence != "" && c.Op != OpDropFence {
		if code := s.passFence(c.Fence, c.Token); code != CodeDone {
			return s.unchanged(code), nil
		}
	}
	return s.execute(c)
}

// execute runs a command, or a part of a transaction that changes something.
func (s *State) execute(c *Command) (Result, error) {
	switch c.Op {
	case OpSet:
		return s.set(c)
	case OpDelete:
		return s.delete(c)
	case OpPrune:
		return s.prune(c)
	case OpAdd:
		return s.add(c)
	case OpTestAndSet:
		return s.testAndSet(c)
	case OpRename:
		return s.rename(c)
	case OpRemove:
		return s.remove(c)
	case OpExpire:
		return s.expire(c)
	case OpTransaction:
		return s.transaction(c)
	case OpSessionCreate:
		return s.createSession(c)
	case OpSessionDestroy:
		return s.destroySession(c)
	case OpSessionRenew:
		return s.renewSession(c)
	case OpDropFence:
		return s.dropFence(c)
	case OpEndSession:
		return s.expireSession(c)
	case OpEndKey:
		return s.expireKey(c)
	case OpEndDelay:
		return s.endDelay(c)
	case OpNewEra:
		return s.newEra()
	}
	panic(fmt.Sprintf("kv: operation %d passed validation", c.Op))
}

// stamp is the revision of what the command changes: the next one at its first change.
func (s *State) stamp() uint64 {
	if !s.stamped {
		s.stamped = true
		s.revision++
	}
	return s.revision
}

func (s *State) set(c *Command) (Result, error) {
	if !c.HasIndex && c.Lock == LockNone && c.TTL == 0 {
		return s.overwrite(c)
	}
	old, found, err := s.indexes(c.Key)
	if err != nil {
		return Result{}, err
	}
	if c.HasIndex && c.Index != old.ModifyIndex {
		return s.unchanged(CodeCondition), nil
	}
	e := &Entry{Key: c.Key, Flags: c.Flags, LockIndex: old.LockIndex, Session: old.Session, TTL: c.TTL}
	if code := s.lock(c, &old, e); code != CodeDone {
		return s.unchanged(code), nil
	}
	if !s.mayExpire(old.TTL, c.TTL) {
		return s.unchanged(CodeFull), nil
	}
	e.ModifyIndex = s.stamp()
	e.CreateIndex = e.ModifyIndex
	if found {
		e.CreateIndex = old.CreateIndex
	}
	if len(c.Value) > 0 {
		e.Value = c.Value
	}
	s.place(e, &old)
	s.setExpiry(e.Key, old.TTL, e.TTL)
	return Result{Code: CodeDone, Revision: s.revision}, nil
}

// place makes e the newest of its key. old is what was there, zero for nothing.
func (s *State) place(e, old *Entry) {
	s.put(e.Key, e)
	if e.Session != old.Session {
		if old.Session != "" {
			s.unhold(old.Session, e.Key)
		}
		if e.Session != "" {
			s.hold(e.Session, e.Key)
		}
	}
	s.tellKey(e.Key, e)
}

// overwrite is a set that only writes the value: it looks at what was there only after it has put what comes, which
// spares the busiest command a search of the table.
func (s *State) overwrite(c *Command) (Result, error) {
	revision := s.stamp()
	e := &Entry{Key: c.Key, Flags: c.Flags, CreateIndex: revision, ModifyIndex: revision}
	if len(c.Value) > 0 {
		e.Value = c.Value
	}
	if old, known := s.put(e.Key, e); known {
		s.succeed(e, old)
	} else if old, found, err := s.beneath(c.Key); err != nil {
		s.active.Delete(e.Key) // as if it had looked first
		s.bytes -= sizeOf(e.Key, e)
		s.revision--
		return Result{}, err
	} else if found {
		s.succeed(e, &old)
	}
	s.tellKey(e.Key, e)
	return Result{Code: CodeDone, Revision: revision}, nil
}

// succeed takes over from the entry before, nil for a deleted one, what overwriting its value does not change, and ends
// its TTL.
func (s *State) succeed(e, old *Entry) {
	if old == nil {
		return
	}
	e.CreateIndex, e.LockIndex, e.Session = old.CreateIndex, old.LockIndex, old.Session
	if old.TTL > 0 {
		s.setExpiry(e.Key, old.TTL, 0)
	}
}

func (s *State) delete(c *Command) (Result, error) {
	old, found, err := s.indexes(c.Key)
	if err != nil {
		return Result{}, err
	}
	if !found {
		return s.unchanged(CodeDone), nil
	}
	if c.HasIndex && c.Index != old.ModifyIndex {
		return s.unchanged(CodeCondition), nil
	}
	s.erase(c.Key, old.Session, old.TTL)
	return Result{Code: CodeDone, Revision: s.revision, Count: 1}, nil
}

// erase deletes a key that is there, with what hangs on it: the lock of a session, or "", and its TTL, or 0.
func (s *State) erase(key, session string, ttl time.Duration) {
	revision := s.stamp()
	s.put(key, nil)
	s.reg.graves.bury(key, revision, s.limits.Tombstones)
	if session != "" {
		s.unhold(session, key)
	}
	s.setExpiry(key, ttl, 0)
	s.tellKey(key, nil)
}

// doomed is a key that a prune deletes.
type doomed struct {
	key, session string
	ttl          time.Duration
}

// prune finds the keys first and deletes them then, for a scan must not see its own tombstones come.
func (s *State) prune(c *Command) (Result, error) {
	if err := s.openView(); err != nil {
		return Result{}, err
	}
	var keys []doomed
	var broken error
	bare := s.reg.held.Len()+s.reg.expiry.Len() == 0
	l := s.layers()
	err := l.scan(span{lo: c.Key, hi: prefixEnd(c.Key)}, func(h *hit) bool {
		d := doomed{key: h.name()}
		if !bare {
			var e Entry
			e, broken = h.peek()
			d.session, d.ttl = e.Session, e.TTL
		}
		keys = append(keys, d)
		return broken == nil && len(keys) <= s.limits.PruneKeys
	})
	switch {
	case err != nil || broken != nil:
		return Result{}, errors.Join(err, broken)
	case len(keys) > s.limits.PruneKeys:
		return s.unchanged(CodeTooMany), nil
	}
	for _, d := range keys {
		s.erase(d.key, d.session, d.ttl)
	}
	return Result{Code: CodeDone, Revision: s.revision, Count: uint64(len(keys))}, nil
}

func (s *State) unchanged(c Code) Result { return Result{Code: c, Revision: s.revision} }

// entry is the newest entry of key, for as long as anybody likes but not to be changed; nil if there is none.
func (s *State) entry(key string) (*Entry, error) {
	l := s.layers()
	if e, known := l.inTables(key); known {
		return e, nil
	}
	if err := s.openView(); err != nil {
		return nil, err
	}
	l.image = s.view
	e, found, err := l.get(key)
	if err != nil || !found {
		return nil, err
	}
	return &e, nil
}

// indexes is the newest entry of key, of which the value may not be used: it may go with the view. A missing
// key has ModifyIndex 0, which no entry has.
func (s *State) indexes(key string) (Entry, bool, error) {
	if e, known := s.active.Get(key); known {
		if e == nil {
			return Entry{}, false, nil
		}
		return *e, true, nil
	}
	return s.beneath(key)
}

// beneath is indexes below the active table.
func (s *State) beneath(key string) (Entry, bool, error) {
	if s.frozen != nil {
		if e, known := s.frozen.data.Get(key); known {
			if e == nil {
				return Entry{}, false, nil
			}
			return *e, true, nil
		}
	}
	if err := s.openView(); err != nil {
		return Entry{}, false, err
	}
	s.key = append(s.key[:0], key...)
	record, err := s.view.Get(SpaceData, s.key)
	if err != nil || record == nil {
		return Entry{}, false, err
	}
	e, err := decodeEntry(key, record)
	return e, err == nil, err
}

// put makes e, or a tombstone, the newest of key, and gives what the active table had of it.
func (s *State) put(key string, e *Entry) (old *Entry, replaced bool) {
	if old, replaced = s.active.Set(key, e); replaced {
		s.bytes -= sizeOf(key, old)
	}
	s.bytes += sizeOf(key, e)
	return old, replaced
}

// openView opens the image once for a slot. It must not stay open longer: storage cannot grow its file under a view.
func (s *State) openView() error {
	if s.view != nil {
		return nil
	}
	view, err := s.source.View()
	if err != nil {
		return err
	}
	s.view = view
	return nil
}

// release lets go of what one slot needed.
func (s *State) release() {
	if s.view != nil {
		s.view.Close()
		s.view = nil
	}
	s.command = Command{}
}
