package web

import "tenure/kv"

// details lists what there is about keys besides their values, and how many keys a name of several is of. The names are
// gathered first, since what counts keys reads the view too.
func (l *listing) details(view *kv.Snapshot, r kv.Range, list *jsonList) error {
	var heads []kv.Head // at most api.MaxKeyDetails
	err := view.Heads(r, l.q.separator, func(h kv.Head) bool {
		heads = append(heads, h)
		return true
	})
	for i := 0; i < len(heads) && err == nil; i++ {
		h, n := &heads[i], 0
		if h.OfSeveral {
			n, err = view.Count(kv.Range{Prefix: h.Key, Cancel: r.Cancel, Keep: r.Keep})
		}
		if err == nil && !list.head(h, n) {
			break
		}
	}
	return err
}

// head adds h, or the number of keys that it is the name of, and reports whether to go on.
func (l *jsonList) head(h *kv.Head, n int) bool {
	l.element()
	b := appendJSONString(appendField(append(l.buf, '{'), l.pretty, true, "Key"), h.Key)
	if h.OfSeveral {
		b = appendUintField(b, l.pretty, false, "Count", uint64(n))
	} else {
		b = l.appendHead(b, h)
	}
	if l.pretty {
		b = append(b, "\n    "...)
	}
	l.buf = append(b, '}')
	return l.flushed()
}

func (l *jsonList) appendHead(b []byte, h *kv.Head) []byte {
	b = appendUintField(b, l.pretty, false, "Size", uint64(h.Size))
	b = appendUintField(b, l.pretty, false, "Flags", h.Flags)
	b = appendUintField(b, l.pretty, false, "LockIndex", h.LockIndex)
	if h.Session != "" {
		b = appendJSONString(appendField(b, l.pretty, false, "Session"), h.Session)
	}
	b = appendUintField(b, l.pretty, false, "CreateIndex", h.CreateIndex)
	b = appendUintField(b, l.pretty, false, "ModifyIndex", h.ModifyIndex)
	if h.TTL != 0 {
		b = appendJSONString(appendField(b, l.pretty, false, "ExpiresIn"), l.expiresIn(&h.Entry).String())
	}
	return b
}
