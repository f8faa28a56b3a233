package kv

import (
	"fmt"
	"math"
)

// Apply applies the batch chosen in slot, which must be the next one; it panics otherwise. An empty batch moves the
// slot and nothing else. There is one result for each command, in order. A command that cannot be decoded gets
// CodeMalformed, and a batch that breaks off gets one more for its rest. A command above the state's feature level gets
// CodeLevel. An error is damage of the state database, or wraps ErrNewer: the node must stop. batch is not kept.
func (s *State) Apply(slot uint64, batch []byte) ([]Result, error) {
	results, _, err := s.apply(slot, batch, math.MaxUint64)
	return results, err
}

// ApplyUpTo is Apply up to a revision: it leaves out the first command that would take the state beyond revision, and
// all commands after it. If it leaves out none, whole is true. Otherwise s must not be given more slots: it is in the
// middle of this one.
func (s *State) ApplyUpTo(revision, slot uint64, batch []byte) (whole bool, err error) {
	_, whole, err = s.apply(slot, batch, revision)
	return whole, err
}

func (s *State) apply(slot uint64, batch []byte, limit uint64) (results []Result, whole bool, err error) {
	if slot != s.applied+1 {
		panic(fmt.Sprintf("kv: slot %d applied after slot %d", slot, s.applied))
	}
	defer s.release()
	results, whole = make([]Result, 0, countCommands(batch)), true
	for len(batch) > 0 {
		cmd, rest, ok := cutPiece(batch)
		if !ok || len(results) == MaxBatchCommands {
			results = append(results, Result{Code: CodeMalformed, Revision: s.exec.revision})
			break
		}
		r, within, err := s.applyCommand(cmd, limit)
		if err != nil {
			return results, false, fmt.Errorf("kv: apply slot %d: %w", slot, err)
		}
		if !within {
			whole = false
			break
		}
		results = append(results, r)
		batch = rest
	}
	s.applied = slot
	return results, whole, nil
}

// applyCommand applies one command, at most once if it has an idempotency key. The state must be at or below revision
// limit. If the command would take it beyond, it is not applied, and within is false.
func (s *State) applyCommand(cmd []byte, limit uint64) (r Result, within bool, err error) {
	if r, done, err := s.applyPlainPut(cmd, limit); done || err != nil {
		return r, err == nil, err
	}
	c := &s.command
	*c = Command{Parts: s.parts[:0]}
	defer s.keepParts(c)
	if err := decodeCommand(cmd, c); err != nil {
		return Result{Code: CodeMalformed, Revision: s.exec.revision}, true, nil
	}
	if !s.allows(c) {
		return Result{Code: CodeLevel, Revision: s.exec.revision}, true, nil
	}
	var h sum
	if c.IdemKey != "" {
		h = s.dedup.hash(c)
	}
	if !s.exec.reg.acl.mayGoOn(c.Decided) {
		return s.staleDecision(c, h), true, nil
	}
	if c.IdemKey != "" {
		if r, fresh := s.dedup.check(c, h, s.exec.revision); !fresh {
			return r, true, nil
		}
	}
	r, within, err = s.executeUpTo(limit, c)
	if err != nil || !within {
		return Result{}, within, err
	}
	if c.IdemKey != "" && r.Code != CodeBootstrapped { // anybody can have that, as often as they like
		s.dedup.remember(c, h, r)
	}
	s.dedup.forget(s.exec.revision)
	s.exec.notes.tell()
	return r, true, nil
}

// staleDecision refuses a command whose permission was decided on tokens and policies that are out of date. Its result
// says whether an earlier copy may have been applied, and not what that came to: the client may have lost the permission
// to see that.
func (s *State) staleDecision(c *Command, h sum) Result {
	code := CodeDecideAgain
	if c.IdemKey != "" && s.dedup.mayKnow(c, h) {
		code = CodeDecideInDoubt
	}
	r := s.exec.unchanged(code)
	r.Count = s.exec.reg.acl.narrowed
	return r
}

// executeUpTo is execute, except that a command that would take the state beyond revision limit changes nothing.
func (s *State) executeUpTo(limit uint64, c *Command) (r Result, within bool, err error) {
	if limit == math.MaxUint64 || s.exec.revision < limit && c.Op != OpInstall {
		r, err = s.execute(c) // to the next revision at most
		return r, true, err
	}
	before, keys := s.exec.save(), s.dedup // only OpInstall changes the keys, and it replaces all that it changes
	if r, err = s.execute(c); err == nil && s.exec.revision > limit {
		s.exec.restore(before)
		s.dedup = keys
		return Result{}, false, nil
	}
	return r, true, err
}

// execute carries out a command, a fenced one only if its fence lets it through.
func (s *State) execute(c *Command) (Result, error) {
	if code := s.exec.begin(c); code != CodeDone {
		return s.exec.unchanged(code), nil
	}
	switch c.Op {
	case OpTransaction, OpSequence:
		return s.compounds.run(&s.exec, c)
	case OpInstall:
		return s.install(c)
	}
	return s.exec.execute(c)
}

// keepParts keeps the space of c's parts for the next command, unless it has become large. Keys and values of parts,
// which the state keeps, are not in that space.
func (s *State) keepParts(c *Command) {
	clear(c.Parts)
	if s.parts = c.Parts[:0]; cap(s.parts) > keepParts {
		s.parts = nil
	}
}

// keepParts is as many steps as a node gathers of one pipeline.
const keepParts = 1 << 10

// release closes what one slot needed.
func (s *State) release() {
	s.exec.entries.closeView()
	s.command = Command{}
}
