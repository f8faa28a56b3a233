package kv

import (
	"bytes"
	"math"
	"strconv"
)

// The commands that change a value in place, or the key itself. Add and test-and-set leave flags, lock and TTL as they
// are: the TTL goes on from where it was set.

func (s *State) add(c *Command) (Result, error) {
	old, err := s.entry(c.Key)
	if err != nil || old == nil {
		return s.unchanged(CodeMissing), err
	}
	sum, ok := addDecimal(old.Value, c.Num)
	if !ok {
		return s.unchanged(CodeNotNumber), nil
	}
	body := strconv.FormatInt(sum, 10)
	s.rewrite(old, []byte(body))
	return Result{Code: CodeDone, Revision: s.revision, Body: body}, nil
}

// mostDigits is more than any int64 has, leading zeros that somebody wrote included.
const mostDigits = 64

// addDecimal is the sum of num and what value says in decimal, with a sign or without.
func addDecimal(value []byte, num int64) (int64, bool) {
	if len(value) > mostDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || num > 0 && n > math.MaxInt64-num || num < 0 && n < math.MinInt64-num {
		return 0, false
	}
	return n + num, true
}

func (s *State) testAndSet(c *Command) (Result, error) {
	old, err := s.entry(c.Key)
	switch {
	case err != nil || old == nil:
		return s.unchanged(CodeMissing), err
	case !bytes.Equal(old.Value, c.Test):
		return Result{Code: CodeDone, Revision: s.revision, Body: string(old.Value)}, nil
	}
	s.rewrite(old, c.Value)
	return Result{Code: CodeDone, Revision: s.revision, Count: 1, Body: string(c.Value)}, nil
}

// rewrite gives old another value, and nothing else.
func (s *State) rewrite(old *Entry, value []byte) {
	e := *old
	e.Value, e.ModifyIndex = nil, s.stamp()
	if len(value) > 0 {
		e.Value = value
	}
	s.place(&e, old)
}

// rename moves value, flags and TTL, which starts anew; index and lock are of a key and stay. A lock says that somebody
// relies on a key, so a key that is locked is neither moved nor overwritten.
func (s *State) rename(c *Command) (Result, error) {
	from, err := s.entry(c.Key)
	if err != nil || from == nil {
		return s.unchanged(CodeMissing), err
	}
	if c.NewKey == c.Key {
		return s.unchanged(CodeDone), nil
	}
	to, found, err := s.indexes(c.NewKey)
	if err != nil {
		return Result{}, err
	}
	if from.Session != "" || to.Session != "" {
		return s.unchanged(CodeCondition), nil
	}
	s.erase(c.Key, "", from.TTL)
	e := &Entry{Key: c.NewKey, Value: from.Value, Flags: from.Flags, CreateIndex: s.revision, ModifyIndex: s.revision,
		LockIndex: to.LockIndex, TTL: from.TTL}
	if found {
		e.CreateIndex = to.CreateIndex
	}
	s.place(e, &to)
	s.setExpiry(e.Key, to.TTL, e.TTL)
	return Result{Code: CodeDone, Revision: s.revision}, nil
}

func (s *State) remove(c *Command) (Result, error) {
	old, err := s.entry(c.Key)
	if err != nil || old == nil {
		return s.unchanged(CodeMissing), err
	}
	s.erase(c.Key, old.Session, old.TTL)
	return Result{Code: CodeDone, Revision: s.revision, Count: 1, Body: EncodeEntries(*old)}, nil
}

func (s *State) expire(c *Command) (Result, error) {
	old, err := s.entry(c.Key)
	if err != nil || old == nil {
		return s.unchanged(CodeMissing), err
	}
	if !s.mayExpire(old.TTL, c.TTL) {
		return s.unchanged(CodeFull), nil
	}
	e := *old
	e.TTL, e.ModifyIndex = c.TTL, s.stamp()
	s.place(&e, old)
	s.setExpiry(e.Key, old.TTL, e.TTL)
	return Result{Code: CodeDone, Revision: s.revision}, nil
}

// expireKey deletes c's key if its TTL is still the one that c means.
func (s *State) expireKey(c *Command) (Result, error) {
	t, runs := s.reg.expiry.Get(c.Key)
	if !runs || t.arm != c.Arm {
		return s.unchanged(CodeCondition), nil
	}
	old, found, err := s.indexes(c.Key)
	if err != nil {
		return Result{}, err
	}
	if !found || old.TTL != t.after {
		return Result{}, damaged("key %q is said to expire after %v, which it does not", c.Key, t.after)
	}
	s.erase(c.Key, old.Session, old.TTL)
	return Result{Code: CodeDone, Revision: s.revision, Count: 1}, nil
}
