package kv

import "strings"

// cancelEvery is how many keys a listing passes between two calls of Range.Cancel.
const cancelEvery = 256

// Range says which keys a listing is of and in which order.
type Range struct {
	Prefix string // of every key listed; may be empty
	// Start is the first key to list, or where it would be: keys from it on, or down from it if Reverse. Empty is no
	// bound. It need not have Prefix.
	Start string
	// After leaves Start itself out: the next page starts After the last key of this one.
	After   bool
	Limit   int // stop after that many; 0 is no limit
	Reverse bool
	// Keep, if set, is asked about each key: one that is not kept is passed as if it were not there.
	Keep func(key string) bool
	// Cancel, if set, is asked now and then; its error ends the listing and is returned. A context's Err fits.
	Cancel func() error
}

// span returns the keys of r. separator is that of Keys, where Start means a listed name: a whole group of keys.
func (r *Range) span(separator string) span {
	s := span{lo: r.Prefix, hi: prefixEnd(r.Prefix), falling: r.Reverse}
	if r.Start == "" {
		return s
	}
	first, behind := r.Start, r.Start+"\x00"
	if g := group(r.Prefix, r.Start, separator); g != "" {
		first, behind = g, prefixEnd(g)
	}
	bound := first
	if r.After != r.Reverse {
		bound = behind
	}
	if r.Reverse {
		if bound != "" && s.below(bound) {
			s.hi = bound
		}
		return s
	}
	if bound == "" { // nothing is behind the last group
		return span{lo: "\x00", hi: "\x00"}
	}
	s.lo = max(s.lo, bound)
	return s
}

// prefixEnd returns the first key behind all that start with prefix, or "" if there is none.
func prefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// group returns the name under which key is listed together with others: up to and with the first separator behind the
// prefix. It is empty for a key that is listed alone.
func group(prefix, key, separator string) string {
	if separator == "" || !strings.HasPrefix(key, prefix) {
		return ""
	}
	i := strings.Index(key[len(prefix):], separator)
	if i < 0 {
		return ""
	}
	return key[:len(prefix)+i+len(separator)]
}

// Walk calls fn with every entry of r in order, until fn says false. The entries stay valid after Close. An error is
// damage or comes from r.Cancel; what fn saw before is right.
func (v *Snapshot) Walk(r Range, fn func(Entry) bool) error {
	w := walk{r: &r}
	err := v.layers.scan(r.span(""), func(h *hit) bool {
		if !w.admit() {
			return false
		}
		if !w.keeps(h) {
			return true
		}
		var e Entry
		if e, w.err = h.load(); w.err != nil {
			return false
		}
		return fn(e) && w.more()
	})
	return w.end(err)
}

// Keys calls fn with the names of r in order, until fn says false. With a separator, keys are cut after the first
// separator behind the prefix, and those that become equal come once; Limit counts what fn sees.
func (v *Snapshot) Keys(r Range, separator string, fn func(key string) bool) error {
	return v.names(r, separator, func(name string, _ *hit) bool { return fn(name) })
}

// Head is what there is about a key besides its value, or the name of several keys.
type Head struct {
	Entry          // without a value; of several keys only Key is set
	Size      int  // of the value in bytes
	OfSeveral bool // Key is the name that several keys are cut to
}

// Heads is Keys with the heads. It copies no values.
func (v *Snapshot) Heads(r Range, separator string, fn func(Head) bool) error {
	var bad error
	err := v.names(r, separator, func(name string, h *hit) bool {
		if h == nil {
			return fn(Head{Entry: Entry{Key: name}, OfSeveral: true})
		}
		var e Entry
		if e, bad = h.peek(); bad != nil {
			return false
		}
		size := len(e.Value)
		e.Value = nil
		return fn(Head{Entry: e, Size: size})
	})
	if err == nil {
		err = bad
	}
	return err
}

// names calls fn with the names of Keys, and with the key of that name, nil if the name is that of several.
func (v *Snapshot) names(r Range, separator string, fn func(name string, h *hit) bool) error {
	w := walk{r: &r}
	s := r.span(separator)
	for again := true; again; {
		again = false
		err := v.layers.scan(s, func(h *hit) bool {
			if !w.admit() {
				return false
			}
			if !w.keeps(h) {
				return true
			}
			key := h.name()
			g := group(r.Prefix, key, separator)
			if g == "" {
				return fn(key, h) && w.more()
			}
			// One seek passes the group, however many keys are in it.
			again = fn(g, nil) && w.more() && s.pass(g)
			return false
		})
		if err = w.end(err); err != nil {
			return err
		}
	}
	return nil
}

// pass moves s past the keys that start with g, and reports whether anything can be left.
func (s *span) pass(g string) bool {
	if s.falling {
		s.hi = g
	} else if s.lo = prefixEnd(g); s.lo == "" {
		return false
	}
	return !s.empty()
}

// Count returns the number of keys of r, at most r.Limit.
func (v *Snapshot) Count(r Range) (int, error) {
	w := walk{r: &r}
	err := v.layers.scan(r.span(""), func(h *hit) bool { return w.admit() && (!w.keeps(h) || w.more()) })
	return w.listed, w.end(err)
}

// walk counts what a listing passes, and asks whether it should go on.
type walk struct {
	r      *Range
	passed int
	listed int
	err    error
}

// admit is called before a key is looked at, and reports whether it may be.
func (w *walk) admit() bool {
	w.passed++
	if w.r.Cancel != nil && w.passed%cancelEvery == 0 {
		w.err = w.r.Cancel()
	}
	return w.err == nil
}

// keeps reports whether a key is to be listed.
func (w *walk) keeps(h *hit) bool { return w.r.Keep == nil || w.r.Keep(h.name()) }

// more is called after a key was listed, and reports whether another may be.
func (w *walk) more() bool {
	w.listed++
	return w.r.Limit <= 0 || w.listed < w.r.Limit
}

func (w *walk) end(err error) error {
	if err == nil {
		err = w.err
	}
	return err
}

// Newest returns the highest ModifyIndex of the keys that start with prefix, and how many there are; 0 and 0 if there
// is none. It looks at every one of them, but copies nothing. cancel, if set, is asked now and then, as Range.Cancel
// is. An error is damage or comes from cancel.
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
