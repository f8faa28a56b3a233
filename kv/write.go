package kv

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
