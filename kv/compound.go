package kv

// A compound is a command made of others, its parts. They are applied in order, each on what those before have made, in
// one slot and under one revision. There are three kinds:
//
//   - A transaction is carried out as a whole or not at all. If a part fails the others run too, to tell of all that
//     fail; then only checks tell more than a code. If no part has failed and the results become too large, it ends.
//   - A sequence is what one connection has sent in a row: each step succeeds or fails by itself. So a pipeline of
//     writes costs one command, and a read between writes sees only the writes before it. Checks at its beginning
//     decide about all of it: if one does not hold nothing is applied. It ends before the first step whose result has
//     no space behind the others, and says how many steps it has left out.
//   - A sequence with ModeWhole is a transaction of the Redis protocol, whose checks are the watched keys. A step that
//     is refused for its size or for space undoes all steps; one that fails otherwise, as an increment of a text does,
//     fails alone.

// compounds carries out compounds on an executor. It owns the space for the results of their parts.
type compounds struct{ results []byte }

// compound is a compound that is being carried out.
type compound struct {
	*executor
	results []byte
	listed  uint64    // entries of trees in results
	before  savepoint // set if the compound can be undone
}

// run carries out c. The revision moves once, at the first part that changes something.
func (s *compounds) run(x *executor, c *Command) (r Result, err error) {
	t := compound{executor: x, results: s.results[:0]}
	if c.Op == OpTransaction {
		r, err = t.transaction(c.Parts)
	} else {
		r, err = t.sequence(c)
	}
	if err != nil {
		return Result{}, err
	}
	if s.results = t.results; cap(s.results) > keepResultsBytes {
		s.results = nil
	}
	return r, nil
}

// keepResultsBytes bounds the space for results that is kept for the next compound.
const keepResultsBytes = 64 << 10

// transaction carries out all of parts or none.
func (t *compound) transaction(parts []Part) (Result, error) {
	t.before = t.save()
	var noSpace Result // of the first part that was refused for space
	failed, forSpace := 0, 0
	for i := range parts {
		p := &parts[i]
		if failed > 0 && (p.Op == OpGetTree || p.Op == OpGetOrEmpty) {
			t.results = appendStep(t.results, &Result{Code: CodeDone}) // it cannot fail, and what it reads is not told
			continue
		}
		r, err := t.runPart(p)
		if err != nil {
			return Result{}, err
		}
		if failed == 0 && (r.Code == CodeTooLarge || r.Code == CodeDone && !t.fits(&r) || t.listed > MaxListed) {
			return t.undone(Result{Code: CodeTooLarge}), nil
		}
		if r.Code == CodeQuota || r.Code == CodeFull {
			if forSpace++; forSpace == 1 {
				noSpace = Result{Code: r.Code, Body: r.Body}
			}
		}
		if r.Code != CodeDone {
			if failed++; failed == 1 {
				t.onlyDone(i)
			}
		}
		if failed > 0 && r.Code != CodeCondition {
			r = Result{Code: r.Code} // nothing will be changed, so only checks have something to tell
		}
		t.results = appendStep(t.results, &r)
	}
	switch failed {
	case 0:
		return t.done(0), nil
	case forSpace: // with space it would be done
		return t.undone(noSpace), nil
	}
	return t.undone(Result{Code: CodeCondition, Body: string(t.results)}), nil
}

// onlyDone has the results say of the first n parts, of a transaction that will be undone, only that they were done.
func (t *compound) onlyDone(n int) {
	t.results = t.results[:0]
	for range n {
		t.results = appendStep(t.results, &Result{Code: CodeDone})
	}
}

// runPart carries out a part of a transaction, and adds to its result the entry that it tells of.
func (t *compound) runPart(p *Part) (Result, error) {
	if t.reg.sessions.lacks(p) {
		return t.unchanged(CodeNoSession), nil
	}
	r, err := t.execute(p)
	unmet := r.Code == CodeCondition && p.Op.OnlyReads()
	if tells := r.Code == CodeDone || unmet; err != nil || !tells {
		return r, err
	}
	key := p.Key
	switch p.Op {
	case OpGetTree:
		t.listed += r.Count
		return r, nil
	case OpRename:
		key = p.NewKey
	case OpSet, OpAdd, OpCheckIndex, OpCheckSession, OpCheckValue:
	default:
		return r, nil
	}
	e, err := t.entries.entry(key)
	if err != nil {
		return Result{}, err
	}
	told := *e
	if p.Op != OpAdd {
		told.Value = nil
	}
	r.Body = EncodeEntries(told)
	return r, nil
}

// sequence carries out the steps of c.
func (t *compound) sequence(c *Command) (Result, error) {
	whole := c.Mode&ModeWhole != 0
	if whole {
		t.before = t.save()
	}
	for i := range c.Parts {
		p, left := &c.Parts[i], len(c.Parts)-i
		if !whole {
			if fits, err := t.mayFit(p, left); err != nil || !fits {
				return t.done(uint64(left)), err
			}
		}
		r, err := t.execute(p)
		if err != nil {
			return Result{}, err
		}
		if known(p.Op).check {
			if r.Code != CodeDone {
				return Result{Code: CodeCondition, Revision: t.revision, Count: uint64(i)}, nil
			}
			continue
		}
		if whole && !t.fits(&r) {
			r = Result{Code: CodeTooLarge}
		}
		if whole && r.Code.forSpace() {
			r.Count = uint64(i)
			return t.undone(r), nil
		}
		t.results = appendStep(t.results, &r)
	}
	return t.done(0), nil
}

// forSpace reports whether a command with this code was refused for its size or for space.
func (c Code) forSpace() bool { return c == CodeQuota || c == CodeFull || c == CodeTooLarge }

// done returns the result of a compound that has left out so many of its parts.
func (t *compound) done(leftOut uint64) Result {
	return Result{Code: CodeDone, Revision: t.revision, Count: leftOut, Body: string(t.results)}
}

// undone returns r as the result of a compound that has changed nothing.
func (t *compound) undone(r Result) Result {
	t.restore(t.before)
	r.Revision = t.revision
	return r
}

// fits reports whether r has space behind the results, of a compound that can be undone.
func (t *compound) fits(r *Result) bool { return len(t.results)+stepBytes+len(r.Body) <= MaxBodyBytes }

// mayFit reports whether SequenceBytes has space for the result of p, the first of so many steps that are left. It is
// asked before p is carried out; the first step of a sequence always fits. The other steps that are left are counted as
// if their results had no body. That of a deletion has none, and deletions are all that a client sends as one command
// and the log has as several steps: so these are done together or not at all.
func (t *compound) mayFit(p *Part, left int) (bool, error) {
	used := len(t.results)
	if used == 0 {
		return true, nil
	}
	need := left*stepBytes + maxOverQuotaBytes
	if p.Mode&(ModeReturn|ModeEntry) != 0 || p.Op == OpFetch {
		old, err := t.entries.entry(p.Key)
		if err != nil {
			return false, err
		}
		if old != nil {
			need += len(old.Value) + len(old.Key) + entryHeaderBytes
		}
	}
	return used+need <= SequenceBytes, nil
}

// maxOverQuotaBytes bounds the body of a refusal for a quota, and that of a number.
const maxOverQuotaBytes = MaxQuotaPrefixBytes + 64
