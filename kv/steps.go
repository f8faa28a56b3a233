package kv

import "bytes"

// The commands on keys as the Redis protocol knows them. Each may stand alone or be a step of a sequence. They treat a
// lock as OpSet does: it is advisory, and stays. They treat a TTL as Redis does: OpSet, OpPutAll and OpDelete end it
// unless told otherwise, OpSetTTL sets it, and the others keep it.

// meets reports whether the condition of c holds for old, if it was found.
func (c *Command) meets(old *Entry, found bool) bool {
	switch {
	case c.Mode&ModeAbsent != 0:
		return !found
	case c.Mode&ModePresent != 0:
		return found
	case c.Mode&ModeEqual != 0:
		return found && bytes.Equal(old.Value, c.Test)
	}
	return true
}

// meetsTimed is meets for the commands whose ModeAbsent and ModePresent are about the TTL. The key must be there.
func (c *Command) meetsTimed(old *Entry) bool {
	switch {
	case c.Mode&ModeAbsent != 0:
		return old.TTL == 0
	case c.Mode&ModePresent != 0:
		return old.TTL != 0
	}
	return c.meets(old, true)
}

// write makes e the newest entry of its key in the place of old, unless a quota does not allow it. If there was no
// entry, old has only its key. The caller sets the timer of the TTL.
func (x *executor) write(e, old *Entry) (r Result, done bool) {
	if r, over := x.reg.quotas.refuse(grows(e.Key, e, old), growth{}, &x.ledger); over {
		return r, false
	}
	return x.renew(e, old), true
}

// renew is write without a look at the quotas.
func (x *executor) renew(e, old *Entry) Result {
	e.ModifyIndex = x.stamp()
	if e.CreateIndex == 0 {
		e.CreateIndex = e.ModifyIndex
	}
	x.place(e, old)
	return Result{Code: CodeDone, Revision: x.revision}
}

// change writes value over old's, or makes the key, and leaves all else.
func (x *executor) change(key string, old *Entry, value []byte) (Result, bool) {
	was := Entry{Key: key}
	if old != nil {
		was = *old
	}
	e := was
	if e.Value = nil; len(value) > 0 {
		e.Value = value
	}
	return x.write(&e, &was)
}

// appendTo writes c's value behind that of old, if the whole has at most c.Num bytes; 0 or less stands for MaxValueBytes.
// Result.Count is 1 + the length of the whole.
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

// setTTL carries out OpSetTTL. Result.Count is 1 if the key is there.
func (x *executor) setTTL(c *Command) (Result, error) {
	old, err := x.entries.entry(c.Key)
	if err != nil || old == nil {
		return x.unchanged(CodeMissing), err
	}
	r := Result{Code: CodeDone, Count: 1}
	switch {
	case !c.meetsTimed(old):
		r.Code = CodeCondition
	case !x.reg.times.mayExpire(old.TTL, c.TTL, x.limits.ExpiringKeys):
		r = Result{Code: CodeFull}
	default:
		e := *old
		e.TTL, e.ModifyIndex = c.TTL, x.stamp()
		x.place(&e, old)
		x.setExpiry(e.Key, old.TTL, e.TTL)
	}
	r.Revision = x.revision
	if c.Mode&ModeReturn != 0 {
		r.Body = string(old.Value)
	}
	return r, nil
}
