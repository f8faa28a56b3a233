package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A sequence is what one connection has sent in a row: its steps are applied one after the other, in one slot and under
// one revision, and each succeeds or fails by itself. Checks at its beginning decide about all of it: if one does not
// hold nothing is applied. So a pipeline of writes costs one command, and a read between writes sees only the writes
// before it. A sequence ends before the first step whose result has no space behind the others, and says how many steps
// it has left out.
//
// A transaction of the Redis protocol is a sequence with ModeWhole, whose checks are the watched keys. A step that is
// refused for its size or for space undoes all steps; one that fails otherwise, as an increment of a text does, fails
// alone.

// sequencer carries out sequences on an executor. It owns the space for their results.
type sequencer struct{ results []byte }

// run carries out OpSequence. The revision moves once, at the first step that changes something.
func (q *sequencer) run(x *executor, c *Command) (Result, error) {
	results, left := q.results[:0], 0
	whole, bound := c.Mode&ModeWhole != 0, sequenceBytes
	var before savepoint
	if whole {
		before, bound = x.save(), MaxBodyBytes
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if p.Op.checks() {
			holds, err := p.holds(&x.entries, &x.reg.tombstones)
			if err != nil {
				return Result{}, err
			}
			if !holds {
				return Result{Code: CodeCondition, Revision: x.revision, Count: uint64(i)}, nil
			}
			continue
		}
		r, fits, err := x.within(p, len(results), len(c.Parts)-i, bound)
		if err != nil {
			return Result{}, err
		}
		if !fits && !whole {
			left = len(c.Parts) - i
			break
		}
		if whole && (!fits || r.Code.forSpace()) {
			x.restore(before)
			r.Revision, r.Count = x.revision, uint64(i)
			return r, nil
		}
		results = appendStep(results, &r)
	}
	x.notes.settle()
	if q.results = results; cap(results) > keepResultsBytes {
		q.results = nil
	}
	return Result{Code: CodeDone, Revision: x.revision, Count: uint64(left), Body: string(results)}, nil
}

// forSpace reports whether a command with this code was refused for its size or for space.
func (c Code) forSpace() bool { return c == CodeQuota || c == CodeFull || c == CodeTooLarge }

// keepResultsBytes bounds the space for the results of a sequence that is kept for the next one.
const keepResultsBytes = 64 << 10

// sequenceBytes bounds the results of a sequence that goes on with another one: whoever sent it has them in memory until
// its client has taken them.
const sequenceBytes = 1 << 20

// within runs the first of so many steps that are left, if its result fits behind used bytes of results into bound.
// Otherwise fits is false and nothing was done. The result of the first step of a sequence always fits. So does that of
// a step without a value behind others of its kind: the steps of one command are not separated, except those that only
// read.
func (x *executor) within(p *Part, used, left, bound int) (r Result, fits bool, err error) {
	need := left*stepBytes + maxOverQuotaBytes
	if p.Mode&ModeReturn != 0 || p.Op == OpFetch {
		old, err := x.entries.entry(p.Key)
		if err != nil {
			return Result{}, false, err
		}
		if old != nil {
			need += len(old.Value)
		}
	}
	if used > 0 && used+need > bound {
		return x.unchanged(CodeTooLarge), false, nil
	}
	r, err = x.execute(p)
	return r, true, err
}

// maxOverQuotaBytes bounds the body of a refusal for a quota, and that of a number.
const maxOverQuotaBytes = MaxQuotaPrefixBytes + 64

// holds reports whether a check at the beginning of a sequence does.
func (p *Part) holds(s *entries, t *tombstones) (bool, error) {
	e, err := s.entry(p.Key)
	if err != nil {
		return false, err
	}
	switch p.Op {
	case OpCheckNotExists:
		return e == nil, nil
	case OpCheckValue:
		return e != nil && bytes.Equal(e.Value, p.Value), nil
	case OpCheckUnchanged:
		if e == nil { // it may have been written and deleted
			return t.of(p.Key) <= p.Index, nil
		}
		return e.ModifyIndex <= p.Index, nil
	}
	return e != nil && e.ModifyIndex == p.Index, nil
}

// checks reports whether op may stand at the beginning of a sequence.
func (op Op) checks() bool {
	switch op {
	case OpCheckIndex, OpCheckNotExists, OpCheckValue, OpCheckUnchanged:
		return true
	}
	return false
}

// stepBytes bounds what a step's result takes beside its body.
const stepBytes = 1 + 2*binary.MaxVarintLen64

// appendStep appends the result of a step to those that Result.Body has: its code, its count as a uvarint and its body as
// a piece.
func appendStep(b []byte, r *Result) []byte {
	b = append(b, byte(r.Code))
	b = binary.AppendUvarint(b, r.Count)
	return appendPiece(b, r.Body)
}

// Steps reads the results of the steps of a sequence, one after the other. The zero Steps has none.
type Steps struct{ rest string }

// StepsOf returns the results in r, the result of a sequence that was done.
func StepsOf(r *Result) Steps { return Steps{rest: r.Body} }

// Next returns the next result; its Revision is 0. Its Body is a part of the sequence's. An error wraps ErrBody: there
// is none, or it is not of a known form.
func (s *Steps) Next() (Result, error) {
	if len(s.rest) == 0 {
		return Result{}, fmt.Errorf("%w: it has fewer results than the sequence has steps", ErrBody)
	}
	r := Result{Code: Code(s.rest[0])}
	rest := s.rest[1:]
	var okCount, okBody bool
	r.Count, rest, okCount = cutUvarint(rest)
	size, rest, okBody := cutUvarint(rest)
	if !okCount || !okBody || size > uint64(len(rest)) || r.Code == 0 || r.Code > maxCode {
		s.rest = ""
		return Result{}, fmt.Errorf("%w: the results of a sequence", ErrBody)
	}
	r.Body, s.rest = rest[:size], rest[size:]
	return r, nil
}

// doneSteps returns how many steps of a sequence were done, by its result.
func doneSteps(r *Result) (n uint64) {
	steps := StepsOf(r)
	for {
		step, err := steps.Next()
		if err != nil { // there is no other
			return n
		}
		if step.Code == CodeDone {
			n++
		}
	}
}

// cutUvarint splits a uvarint off s.
func cutUvarint(s string) (n uint64, rest string, ok bool) {
	var shift uint
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		b := s[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, s[i+1:], true
		}
		shift += 7
	}
	return 0, s, false
}

// validateSteps checks the parts of a sequence, alone and together.
func (c *Command) validateSteps() error {
	if len(c.Parts) > MaxSteps {
		return errTooManySteps
	}
	total, checking := 0, true
	for i := range c.Parts {
		size, err := c.Parts[i].validateStep(i, &checking)
		if err != nil {
			return err
		}
		total += size
	}
	return validateStepsBytes(total)
}

// validateStep checks step i of a sequence, and returns about how many bytes it takes. checking is whether all before it
// are checks, and becomes whether it is one as well.
func (p *Part) validateStep(i int, checking *bool) (size int, err error) {
	*checking = *checking && p.Op.checks()
	belongs, has := known(p.Op).step || *checking, p.present()
	if !belongs || has&(fenced|hasParts|hasLock|hasSessionID) != 0 {
		return 0, fmt.Errorf("%w: step %d of the sequence: operation %d, or a field of it, does not belong there",
			ErrCommand, i, p.Op)
	}
	if err := p.validate(has); err != nil {
		return 0, fmt.Errorf("step %d of the sequence: %w", i, err)
	}
	return StepOverhead + len(p.Key) + len(p.NewKey) + len(p.Value) + len(p.Test), nil
}

func validateStepsBytes(total int) error {
	if total > MaxPartsBytes {
		return fmt.Errorf("%w: the steps of the sequence have about %d bytes, at most %d are allowed", ErrCommand, total,
			MaxPartsBytes)
	}
	return nil
}

// StepOverhead bounds what a step takes beside its keys and values once it is encoded.
const StepOverhead = 96

var errTooManySteps = fmt.Errorf("%w: the sequence has more than %d steps", ErrCommand, MaxSteps)
