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

// addDecimal returns the sum of num and the number that value holds.
func addDecimal(value []byte, num int64) (int64, bool) {
	n, ok := ParseDecimal(value)
	if !ok || num > 0 && n > math.MaxInt64-num || num < 0 && n < math.MinInt64-num {
		return 0, false
	}
	return n + num, true
}

// ParseDecimal reads an int64 in the one form in which it is written: with a minus or no sign, without spaces or leading
// zeros. Another form is no number: a sum in its place would lose how it was written.
func ParseDecimal(b []byte) (int64, bool) {
	digits, negative := bytes.CutPrefix(b, []byte("-"))
	if len(digits) == 0 || len(b) > maxDecimalBytes || digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	var n uint64
	for _, d := range digits {
		if d < '0' || d > '9' || n > (math.MaxUint64-9)/10 {
			return 0, false
		}
		n = n*10 + uint64(d-'0')
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true
	case !negative && n <= math.MaxInt64:
		return int64(n), true
	}
	return 0, false
}

// maxDecimalBytes is how many bytes the longest int64 has.
const maxDecimalBytes = 20

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
