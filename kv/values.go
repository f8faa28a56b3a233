package kv

import (
	"bytes"
	"math"
	"strconv"
)

// The commands that change a value in place. They leave flags, lock and TTL as they are: the TTL goes on from where it
// was set.

// add carries out OpAdd. With CodeNotNumber, Result.Count is 1 if the value is a number and the sum would not be one.
func (x *executor) add(c *Command) (Result, error) {
	old, err := x.entries.entry(c.Key)
	if err != nil {
		return Result{}, err
	}
	value := []byte("0")
	switch {
	case old != nil:
		value = old.Value
	case c.Mode&ModeCreate == 0:
		return x.unchanged(CodeMissing), nil
	}
	sum, ok := addDecimal(value, c.Num)
	if !ok {
		r := x.unchanged(CodeNotNumber)
		if _, number := addDecimal(value, 0); number {
			r.Count = 1
		}
		return r, nil
	}
	body := strconv.FormatInt(sum, 10)
	r, done := x.change(c.Key, old, []byte(body))
	if done {
		r.Body = body
	}
	return r, nil
}

// appendTo writes c's value behind that of old, if the whole has at most c.Num bytes; 0 or less stands for
// MaxValueBytes. Result.Count is 1 + the length of the whole.
func (x *executor) appendTo(c *Command) (Result, error) {
	old, err := x.entries.entry(c.Key)
	if err != nil {
		return Result{}, err
	}
	var value []byte
	if old != nil {
		value = old.Value
	}
	most := int64(MaxValueBytes)
	if c.Num > 0 {
		most = min(c.Num, most)
	}
	if int64(len(value)+len(c.Value)) > most {
		return x.unchanged(CodeTooLarge), nil
	}
	whole := make([]byte, 0, len(value)+len(c.Value))
	whole = append(append(whole, value...), c.Value...)
	r, done := x.change(c.Key, old, whole)
	if done {
		r.Count = 1 + uint64(len(whole))
	}
	return r, nil
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
