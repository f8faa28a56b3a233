package kv

// smallValueBytes is the most that a value may have which is written while space is short: a lock release carries one.
const smallValueBytes = 1 << 10

// Frees reports whether c goes on while space is short: it gives space back, keeps what is there alive, or ends it.
// Releasing a lock writes the value again, and counts as long as that is small. A new TTL writes the value again too, of
// whatever size, and does not count.
func (c *Command) Frees() bool {
	switch {
	case c.Op == OpSet:
		return c.Lock == LockRelease && len(c.Value) <= smallValueBytes
	case c.Op.hasParts():
		for i := range c.Parts {
			if !c.Parts[i].GoesOnFull() {
				return false
			}
		}
		return true
	}
	return known(c.Op).space == frees
}

// GoesOnFull reports whether c, which may be a part or step, is carried out while space is short: it Frees or only reads.
func (c *Command) GoesOnFull() bool { return c.Frees() || c.Op.OnlyReads() }

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
		if c.Value = payload; c.Op.hasParts() && decodeParts(payload, &c) != nil {
			return true
		}
		frees = c.Frees()
		return frees
	})
	return frees
}
