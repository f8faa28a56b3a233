package check

import (
	"fmt"

	"tenure/jepsen/history"
)

// Set checks keys that are put once and never touched again, and lists of prefixes of them. An acknowledged key must be
// in every list of its prefix that begins later, at its acknowledged revision, and be created only once. A key whose
// put failed must never show.
func Set(ops []history.Op) Result {
	r := Result{}
	names, by := groups(ops, func(op history.Op) string { return prefixOf(op) })
	for _, n := range names {
		r.merge(setPrefix(by[n]))
	}
	return r
}

// prefixOf returns the prefix that a list names, or that a key's last slash ends.
func prefixOf(op history.Op) string {
	if op.Kind == history.List {
		return op.Key
	}
	for i := len(op.Key) - 1; i >= 0; i-- {
		if op.Key[i] == '/' {
			return op.Key[:i+1]
		}
	}
	return op.Key
}

func setPrefix(all []history.Op) Result {
	ops := useful(all)
	r := Result{Checked: len(ops), Keys: 1}
	puts, lists := map[string]history.Op{}, []history.Op{}
	for _, op := range all {
		if op.Kind == history.Put {
			puts[op.Key] = op
		}
	}
	for _, op := range ops {
		if op.Kind == history.List {
			lists = append(lists, op)
			setList(&r, op, puts)
		}
	}
	// Whoever is known to be there, from its put or from a list, must be in all later lists.
	there := map[string]history.Op{}
	earlier(ops, lists, func(op history.Op) {
		if op.Kind == history.Put && op.Outcome == history.OK {
			there[op.Key] = op
		}
		for _, e := range op.Entries {
			if _, known := there[e.Key]; !known {
				there[e.Key] = op
			}
		}
	}, func(l history.Op) {
		found := map[string]bool{}
		for _, e := range l.Entries {
			found[e.Key] = true
		}
		missing(&r, l, there, found)
	})
	return r
}

func missing(r *Result, l history.Op, there map[string]history.Op, found map[string]bool) {
	lost := ""
	for key := range there {
		if !found[key] && (lost == "" || key < lost) {
			lost = key
		}
	}
	if lost == "" {
		return
	}
	if there[lost].Kind == history.Put {
		r.add("lost or stale", fmt.Sprintf("%s was acknowledged at %d and is not in a later list", lost,
			there[lost].Result), there[lost], l)
		return
	}
	r.add("vanished", fmt.Sprintf("%s was in a list and is not in a later one", lost), there[lost], l)
}

// setList checks one list by itself.
func setList(r *Result, l history.Op, puts map[string]history.Op) {
	last := ""
	for _, e := range l.Entries {
		put, tried := puts[e.Key]
		switch {
		case e.Key <= last:
			r.add("order", fmt.Sprintf("%s comes after %s in a list", e.Key, last), l)
		case !tried || put.Value != e.Value:
			r.add("from nowhere", fmt.Sprintf("nobody put %q into %s", e.Value, e.Key), l)
		case put.Outcome == history.Fail:
			r.add("refused but done", fmt.Sprintf("%s is there although its client was told that it was not applied",
				e.Key), put, l)
		case put.Call > l.Return:
			r.add("from the future", fmt.Sprintf("%s was in a list before it was put", e.Key), put, l)
		case e.Create != e.Modify:
			r.add("duplicate", fmt.Sprintf("%s was applied more than once: created at %d, modified at %d", e.Key,
				e.Create, e.Modify), put, l)
		case put.Outcome == history.OK && e.Modify != put.Result:
			r.add("wrong revision", fmt.Sprintf("%s is at %d, its client was told %d", e.Key, e.Modify, put.Result),
				put, l)
		}
		last = e.Key
	}
}
