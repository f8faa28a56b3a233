package kv

// Newest is the highest ModifyIndex of the keys that start with prefix, and how many there are; 0 and 0 if there is none.
// It looks at every one of them, but copies nothing. cancel, if set, is asked now and then, as Range.Cancel is. An error is
// damage or comes from cancel.
func (v *Snapshot) Newest(prefix string, cancel func() error) (index uint64, n int, err error) {
	w := walk{r: &Range{Cancel: cancel}}
	err = v.layers.scan(span{lo: prefix, hi: prefixEnd(prefix)}, func(h *hit) bool {
		if !w.admit() {
			return false
		}
		if h.entry != nil {
			index = max(index, h.entry.ModifyIndex)
			return w.more()
		}
		var e Entry
		e, w.err = decodeEntry("", h.record)
		index = max(index, e.ModifyIndex)
		return w.err == nil && w.more()
	})
	return index, w.listed, w.end(err)
}
