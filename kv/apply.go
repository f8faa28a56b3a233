package kv

import "fmt"

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
	c, err := decodeCommand(cmd, &s.header)
	if err != nil {
		return Result{Code: CodeMalformed, Revision: s.revision}, nil
	}
	var h sum
	if c.IdemKey != "" {
		h = s.dedup.hash(&c)
		if r, fresh := s.dedup.check(&c, h, s.revision); !fresh {
			return r, nil
		}
	}
	r, err := s.execute(&c)
	if err != nil {
		return Result{}, err
	}
	if c.IdemKey != "" {
		s.dedup.remember(c.IdemKey, h, r)
	}
	s.dedup.forget(s.revision)
	return r, nil
}

func (s *State) execute(c *Command) (Result, error) {
	switch c.Op {
	case OpSet:
		return s.set(c)
	case OpDelete:
		return s.delete(c)
	case OpPrune:
		return s.prune(c)
	}
	panic(fmt.Sprintf("kv: operation %d passed validation", c.Op))
}

func (s *State) set(c *Command) (Result, error) {
	if !c.HasIndex {
		return s.overwrite(c)
	}
	old, found, err := s.indexes(c.Key)
	if err != nil {
		return Result{}, err
	}
	if c.HasIndex && c.Index != old.ModifyIndex {
		return s.unchanged(CodeCondition), nil
	}
	s.revision++
	e := &Entry{Key: c.Key, Flags: c.Flags, CreateIndex: s.revision, ModifyIndex: s.revision, LockIndex: old.LockIndex}
	if found {
		e.CreateIndex = old.CreateIndex
	}
	if len(c.Value) > 0 {
		e.Value = c.Value
	}
	s.put(e.Key, e)
	return Result{Code: CodeDone, Revision: s.revision}, nil
}

// overwrite is a set without a condition: it looks at what was there only after it has put what comes, which spares the
// busiest command a search of the table.
func (s *State) overwrite(c *Command) (Result, error) {
	s.revision++
	e := &Entry{Key: c.Key, Flags: c.Flags, CreateIndex: s.revision, ModifyIndex: s.revision}
	if len(c.Value) > 0 {
		e.Value = c.Value
	}
	if old, known := s.put(e.Key, e); known {
		e.succeed(old)
	} else if old, found, err := s.beneath(c.Key); err != nil {
		s.active.Delete(e.Key) // as if it had looked first
		s.bytes -= sizeOf(e.Key, e)
		s.revision--
		return Result{}, err
	} else if found {
		e.succeed(&old)
	}
	return Result{Code: CodeDone, Revision: s.revision}, nil
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
	s.revision++
	s.put(c.Key, nil)
	return Result{Code: CodeDone, Revision: s.revision, Count: 1}, nil
}

// prune finds the keys first and deletes them then, for a scan must not see its own tombstones come.
func (s *State) prune(c *Command) (Result, error) {
	if err := s.openView(); err != nil {
		return Result{}, err
	}
	var keys []string
	l := s.layers()
	err := l.scan(span{lo: c.Key, hi: prefixEnd(c.Key)}, func(h *hit) bool {
		keys = append(keys, h.name())
		return len(keys) <= s.limits.PruneKeys
	})
	switch {
	case err != nil:
		return Result{}, err
	case len(keys) > s.limits.PruneKeys:
		return s.unchanged(CodeTooMany), nil
	case len(keys) == 0:
		return s.unchanged(CodeDone), nil
	}
	s.revision++
	for _, key := range keys {
		s.put(key, nil)
	}
	return Result{Code: CodeDone, Revision: s.revision, Count: uint64(len(keys))}, nil
}

func (s *State) unchanged(c Code) Result { return Result{Code: c, Revision: s.revision} }

// succeed takes over from the entry before, nil for a deleted one, what a write does not change.
func (e *Entry) succeed(old *Entry) {
	if old != nil {
		e.CreateIndex, e.LockIndex = old.CreateIndex, old.LockIndex
	}
}

// indexes is the newest entry of key, of which only the numbers may be used: its value may go with the view. A missing
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
	s.header = commandHeader{}
}
