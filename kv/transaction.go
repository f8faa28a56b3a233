package kv

import (
	"bytes"
	"fmt"
)

// attempt is a transaction that is being carried out: its outcome as it grows.
type attempt struct {
	Outcomes
	bytes int
	full  bool
	// over is the Body of the first part that a quota refused, and overs is the number of such parts.
	over  string
	overs int
}

// transact runs all parts of c in order, each on what those before have made. If any fails, everything is as before,
// and the outcome says of each that failed why; the others ran to find that out.
func transact(x *executor, c *Command) (Result, error) {
	before := x.save()
	var t attempt
	for i := range c.Parts {
		if err := t.run(x, i, &c.Parts[i]); err != nil {
			return Result{}, err
		}
		if t.full {
			x.restore(before)
			return x.unchanged(CodeTooLarge), nil
		}
	}
	code := CodeDone
	if len(t.Errors) > 0 {
		x.restore(before)
		if t.overs == len(t.Errors) { // with space it would be done
			return Result{Code: CodeQuota, Revision: x.revision, Body: t.over}, nil
		}
		code, t.Results = CodeCondition, nil
	}
	body := EncodeOutcomes(t.Outcomes)
	if len(body) > MaxBodyBytes {
		x.restore(before)
		return x.unchanged(CodeTooLarge), nil
	}
	x.notes.settle()
	return Result{Code: code, Revision: x.revision, Body: body}, nil
}

// add keeps e as the answer of part i, with its value if that was asked for. It reports whether there is space for
// more.
func (t *attempt) add(i int, e *Entry, valued bool) bool {
	if !valued {
		bare := *e
		bare.Value = nil
		e = &bare
	}
	t.bytes += len(e.Key) + len(e.Value)
	t.full = t.bytes > MaxBodyBytes || len(t.Results) == MaxOutcomes
	if !t.full {
		t.Results = append(t.Results, Outcome{Part: i, Entry: e})
	}
	return !t.full
}

func (t *attempt) fail(i int, format string, args ...any) {
	t.Errors = append(t.Errors, PartError{Part: i, What: fmt.Sprintf(format, args...)})
}

// refused records that a quota has refused part i; body is the encoded OverQuota. The text of the part has none of its
// figures, which not every client may know.
func (t *attempt) refused(i int, p *Part, body string) {
	if t.overs++; t.overs == 1 {
		t.over = body
	}
	t.fail(i, "failed at key %q: the quota of a prefix does not allow it", p.Key)
}

// run runs one part and keeps what it answers.
func (t *attempt) run(x *executor, i int, p *Part) error {
	if why := noSession(&x.reg.sessions, p); why != "" {
		t.fail(i, "%s", why)
		return nil
	}
	switch p.Op {
	case OpGetTree:
		return t.tree(&x.entries, i, p.Key)
	case OpGet, OpGetOrEmpty, OpCheckIndex, OpCheckSession, OpCheckNotExists, OpCheckValue:
		return t.look(&x.entries, i, p)
	}
	r, err := x.execute(p)
	if err != nil {
		return err
	}
	if r.Code == CodeQuota {
		t.refused(i, p, r.Body)
		return nil
	}
	if r.Code != CodeDone {
		t.fail(i, "%s", whyFailed(p, r.Code))
		return nil
	}
	switch p.Op {
	case OpSet, OpAdd:
		return t.key(&x.entries, i, p.Key, p.Op == OpAdd)
	case OpRename:
		return t.key(&x.entries, i, p.NewKey, false)
	}
	return nil
}

// key answers part i with the entry of key, which exists.
func (t *attempt) key(s *entries, i int, key string, valued bool) error {
	e, err := s.entry(key)
	if err == nil {
		t.add(i, e, valued)
	}
	return err
}

// tree answers part i with every entry that starts with prefix.
func (t *attempt) tree(s *entries, i int, prefix string) error {
	var broken error
	err := s.scan(span{lo: prefix, hi: prefixEnd(prefix)}, func(h *hit) bool {
		var e Entry
		e, broken = h.load()
		return broken == nil && t.add(i, &e, true)
	})
	if err == nil {
		err = broken
	}
	return err
}

// look runs a part that reads one key.
func (t *attempt) look(s *entries, i int, p *Part) error {
	e, err := s.entry(p.Key)
	if err != nil {
		return err
	}
	switch {
	case e == nil && p.Op == OpGetOrEmpty:
		t.add(i, &Entry{Key: p.Key}, true)
	case e == nil && p.Op == OpCheckNotExists:
	case e == nil:
		t.fail(i, "key %q doesn't exist", p.Key)
	case p.Op == OpCheckNotExists:
		t.fail(i, "key %q exists", p.Key)
	case p.Op == OpCheckIndex && e.ModifyIndex != p.Index:
		t.fail(i, "failed index check for key %q: its modify index is %d, not %d", p.Key, e.ModifyIndex, p.Index)
	case p.Op == OpCheckSession && e.Session != p.Session.ID:
		t.fail(i, "failed session check for key %q: its session is %q, not %q", p.Key, e.Session, p.Session.ID)
	case p.Op == OpCheckValue && !bytes.Equal(e.Value, p.Value):
		t.fail(i, "failed value check for key %q: it holds another value", p.Key)
	default:
		t.add(i, e, p.Op == OpGet || p.Op == OpGetOrEmpty)
	}
	return nil
}

// noSession returns why p fails if it needs a session and names none that there is, else "". It comes before all else:
// no ID at all would be that of a key without a lock.
func noSession(s *sessions, p *Part) string {
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
	if s.lives(p.Session.ID) {
		return ""
	}
	if p.Session.ID == "" {
		return fmt.Sprintf("failed to %s key %q, missing session", to, p.Key)
	}
	return fmt.Sprintf("failed to %s key %q, invalid session %q", to, p.Key, p.Session.ID)
}

// whyFailed returns a text for code of p. The texts are close to those of Consul, which people know.
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
