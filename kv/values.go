package kv

import (
	"bytes"
	"math"
	"strconv"
)

// The commands that change a value in place. They leave flags, lock and TTL as they are: the TTL goes on from where it
// was set.

func (x *executor) add(c *Command) (Result, error) {
	old, err := x.entries.entry(c.Key)
	if err != nil || old == nil {
		return x.unchanged(CodeMissing), err
	}
	sum, ok := addDecimal(old.Value, c.Num)
	if !ok {
		return x.unchanged(CodeNotNumber), nil
	}
	body := strconv.FormatInt(sum, 10)
	if r, over := x.rewrite(old, []byte(body)); over {
		return r, nil
	}
	return Result{Code: CodeDone, Revision: x.revision, Body: body}, nil
}

// mostDigits is more than any int64 has, leading zeros that somebody wrote included.
const mostDigits = 64

// addDecimal returns the sum of num and what value says in decimal, with a sign or without.
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

func (x *executor) testAndSet(c *Command) (Result, error) {
	old, err := x.entries.entry(c.Key)
	switch {
	case err != nil || old == nil:
		return x.unchanged(CodeMissing), err
	case !bytes.Equal(old.Value, c.Test):
		return Result{Code: CodeDone, Revision: x.revision, Body: string(old.Value)}, nil
	}
	if r, over := x.rewrite(old, c.Value); over {
		return r, nil
	}
	return Result{Code: CodeDone, Revision: x.revision, Count: 1, Body: string(c.Value)}, nil
}

// rewrite replaces the value of old, and nothing else. over is true, with the refusal, if a quota does not allow that.
func (x *executor) rewrite(old *Entry, value []byte) (refused Result, over bool) {
	e := *old
	if e.Value = nil; len(value) > 0 {
		e.Value = value
	}
	if refused, over = x.reg.quotas.refuse(grows(e.Key, &e, old), growth{}, &x.ledger); over {
		return refused, true
	}
	e.ModifyIndex = x.stamp()
	x.place(&e, old)
	return Result{}, false
}
