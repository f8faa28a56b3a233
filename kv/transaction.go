package kv

import (
	"bytes"
	"fmt"
)

// savepoint is the way back to where a transaction began.
type savepoint struct {
	revision uint64
	active   *table
	bytes    int64
	reg      registers
}

func (s *State) save() savepoint {
	return savepoint{revision: s.revision, active: s.active.Copy(), bytes: s.bytes, reg: s.reg.copy()}
}

func (s *State) restore(p savepoint) {
	s.revision, s.active, s.bytes, s.reg = p.revision, p.active, p.bytes, p.reg
	s.told = told{}
}

// transaction runs all parts in order, each on what those before have made. If any fails, everything is as before, and
// the outcome says of each that failed why; the others ran to find that out.
func (s *State) transaction(c *Command) (Result, error) {
	before := s.save()
	var g gathered
	for i := range c.Parts {
		if err := s.part(i, &c.Parts[i], &g); err != nil {
			return Result{}, err
		}
		if g.full {
			s.restore(before)
			return s.unchanged(CodeTooLarge), nil
		}
	}
	code := CodeDone
	if len(g.Errors) > 0 {
		s.restore(before)
		code, g.Results = CodeCondition, nil
	}
	body := EncodeOutcomes(g.Outcomes)
	if len(body) > MaxBodyBytes {
		s.restore(before)
		return s.unchanged(CodeTooLarge), nil
	}
	s.told.settle()
	return Result{Code: code, Revision: s.revision, Body: body}, nil
}

// gathered is the outcome of a transaction as it grows.
type gathered struct {
	Outcomes
	bytes int
	full  bool
}

// add keeps e as the answer of part i, with its value if that was asked for. It tells whether there is room for more.
func (g *gathered) add(i int, e *Entry, valued bool) bool {
	if !valued {
		bare := *e
		bare.Value = nil
		e = &bare
	}
	g.bytes += len(e.Key) + len(e.Value)
	g.full = g.bytes > MaxBodyBytes || len(g.Results) == MaxOutcomes
	if !g.full {
		g.Results = append(g.Results, Outcome{Part: i, Entry: e})
	}
	return !g.full
}

func (g *gathered) fail(i int, format string, args ...any) {
	g.Errors = append(g.Errors, PartError{Part: i, What: fmt.Sprintf(format, args...)})
}

// part runs one part and gathers what it answers.
func (s *State) part(i int, p *Part, g *gathered) error {
	if why := s.noSession(p); why != "" {
		g.fail(i, "%s", why)
		return nil
	}
	switch p.Op {
	case OpGetTree:
		return s.gatherTree(i, p.Key, g)
	case OpGet, OpGetOrEmpty, OpCheckIndex, OpCheckSession, OpCheckNotExists, OpCheckValue:
		return s.look(i, p, g)
	}
	r, err := s.execute(p)
	if err != nil {
		return err
	}
	if r.Code != CodeDone {
		g.fail(i, "%s", whyFailed(p, r.Code))
		return nil
	}
	switch p.Op {
	case OpSet, OpAdd:
		return s.gather(i, p.Key, p.Op == OpAdd, g)
	case OpRename:
		return s.gather(i, p.NewKey, false, g)
	}
	return nil
}

// gather answers part i with the entry of key, which exists.
func (s *State) gather(i int, key string, valued bool, g *gathered) error {
	e, err := s.entry(key)
	if err == nil {
		g.add(i, e, valued)
	}
	return err
}

func (s *State) gatherTree(i int, prefix string, g *gathered) error {
	if err := s.openView(); err != nil {
		return err
	}
	var broken error
	l := s.layers()
	err := l.scan(span{lo: prefix, hi: prefixEnd(prefix)}, func(h *hit) bool {
		var e Entry
		e, broken = h.load()
		return broken == nil && g.add(i, &e, true)
	})
	if err == nil {
		err = broken
	}
	return err
}

// look runs a part that reads one key.
func (s *State) look(i int, p *Part, g *gathered) error {
	e, err := s.entry(p.Key)
	if err != nil {
		return err
	}
	switch {
	case e == nil && p.Op == OpGetOrEmpty:
		g.add(i, &Entry{Key: p.Key}, true)
	case e == nil && p.Op == OpCheckNotExists:
	case e == nil:
		g.fail(i, "key %q doesn't exist", p.Key)
	case p.Op == OpCheckNotExists:
		g.fail(i, "key %q exists", p.Key)
	case p.Op == OpCheckIndex && e.ModifyIndex != p.Index:
		g.fail(i, "failed index check for key %q: its modify index is %d, not %d", p.Key, e.ModifyIndex, p.Index)
	case p.Op == OpCheckSession && e.Session != p.Session.ID:
		g.fail(i, "failed session check for key %q: its session is %q, not %q", p.Key, e.Session, p.Session.ID)
	case p.Op == OpCheckValue && !bytes.Equal(e.Value, p.Value):
		g.fail(i, "failed value check for key %q: it holds another value", p.Key)
	default:
		g.add(i, e, p.Op == OpGet || p.Op == OpGetOrEmpty)
	}
	return nil
}

// noSession is why p fails if it needs a session and names none that there is, else "". It comes before all else: no ID at
// all would be that of a key without a lock.
func (s *State) noSession(p *Part) string {
	var to string
	switch {
	case p.Lock == LockAcquire:
		to = "lock"
	case p.Lock == LockRelease:
		to = "unlock"
	case p.Op == OpCheckSession:
		to = "check the session of"
	default:
		return ""
	}
	if _, lives := s.reg.sessions.Get(p.Session.ID); lives {
		return ""
	}
	if p.Session.ID == "" {
		return fmt.Sprintf("failed to %s key %q, missing session", to, p.Key)
	}
	return fmt.Sprintf("failed to %s key %q, invalid session %q", to, p.Key, p.Session.ID)
}

// whyFailed is code of p in words, which are near to those of Consul, for people know them.
func whyFailed(p *Part, code Code) string {
	switch {
	case code == CodeCondition && p.Op == OpDelete:
		return fmt.Sprintf("failed to delete key %q, index is stale", p.Key)
	case code == CodeCondition && p.Op == OpRename:
		return fmt.Sprintf("failed to rename key %q to %q, one of them is locked", p.Key, p.NewKey)
	case code == CodeCondition && p.Lock == LockAcquire:
		return fmt.Sprintf("failed to lock key %q, lock is already held, or its lock-delay runs", p.Key)
	case code == CodeCondition && p.Lock == LockRelease:
		return fmt.Sprintf("failed to unlock key %q, lock isn't held, or is held by another session", p.Key)
	case code == CodeCondition:
		return fmt.Sprintf("failed to set key %q, index is stale", p.Key)
	case code == CodeMissing:
		return fmt.Sprintf("key %q doesn't exist", p.Key)
	}
	return fmt.Sprintf("failed at key %q: %s", p.Key, code)
}
