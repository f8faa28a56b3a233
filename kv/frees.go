package kv

// smallValueBytes is the most that a value may have which is written while space is short: a lock release carries one.
const smallValueBytes = 1 << 10

// Frees reports whether c goes on while space is short: it gives space back, keeps what is there alive, or ends it.
// Releasing a lock writes the value again, and counts as long as that is small.
func (c *Command) Frees() bool {
	switch c.Op {
	case OpDelete, OpPrune, OpRemove, OpSessionDestroy, OpSessionRenew, OpDropFence,
		OpEndSession, OpEndKey, OpEndDelay, OpNewEra:
		return true
	case OpSet:
		return c.Lock == LockRelease && len(c.Value) <= smallValueBytes
	case OpTransaction:
		for i := range c.Parts {
			if p := &c.Parts[i]; !p.Frees() && !p.Op.onlyReads() {
				return false
			}
		}
		return true
	}
	return false
}

// onlyReads reports whether op, a verb of a transaction, changes nothing.
func (op Op) onlyReads() bool { return op >= OpGet && op <= OpCheckValue }

// BatchFrees reports whether every command of batch goes on while space is short. One that cannot be decoded does:
// applying it changes nothing.
func BatchFrees(batch []byte) bool {
	frees := true
	_ = DecodeBatch(batch, func(b []byte) bool { // a broken rest is not applied
		var c Command
		payload, err := decodeHeader(b, &c)
		if err != nil {
			return true
		}
		if c.Value = payload; c.Op == OpTransaction && decodeParts(payload, &c) != nil {
			return true
		}
		frees = c.Frees()
		return frees
	})
	return frees
}
