package kv

import "fmt"

// Apply applies the batch chosen in slot, which must be the next one; it panics otherwise. An empty batch moves the
// slot and nothing else. There is one result for each command, in order; what cannot be decoded gets CodeMalformed, and
// a batch that breaks off gets one more for what is left of it. A command above the state's feature level gets CodeLevel.
// An error is damage of the state database, or wraps ErrNewer: the node must stop. batch is not kept.
func (s *State) Apply(slot uint64, batch []byte) ([]Result, error) {
	if slot != s.applied+1 {
		panic(fmt.Sprintf("kv: slot %d applied after slot %d", slot, s.applied))
	}
	defer s.release()
	results := make([]Result, 0, countCommands(batch))
	for len(batch) > 0 {
		cmd, rest, ok := cutPiece(batch)
		if !ok || len(results) == MaxBatchCommands {
			results = append(results, Result{Code: CodeMalformed, Revision: s.exec.revision})
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
		return Result{Code: CodeMalformed, Revision: s.exec.revision}, nil
	}
	if !s.allows(c) {
		return Result{Code: CodeLevel, Revision: s.exec.revision}, nil
	}
	var h sum
	if c.IdemKey != "" {
		h = s.dedup.hash(c)
		if r, fresh := s.dedup.check(c, h, s.exec.revision); !fresh {
			return r, nil
		}
	}
	r, err := s.execute(c)
	if err != nil {
		return Result{}, err
	}
	if c.IdemKey != "" {
		s.dedup.remember(c.IdemKey, h, r)
	}
	s.dedup.forget(s.exec.revision)
	s.exec.notes.tell()
	return r, nil
}

// execute carries out a command, a fenced one only if its fence lets it through.
func (s *State) execute(c *Command) (Result, error) {
	if code := s.exec.begin(c); code != CodeDone {
		return s.exec.unchanged(code), nil
	}
	if c.Op == OpTransaction {
		return transact(&s.exec, c)
	}
	return s.exec.execute(c)
}

// release closes what one slot needed.
func (s *State) release() {
	s.exec.entries.closeView()
	s.command = Command{}
}
