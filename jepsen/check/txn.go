package check

import (
	"fmt"
	"sort"
	"strings"

	"tenure/jepsen/history"
)

// Txns checks transactions on the keys of a group, which share the part before the last slash. A value is a list of
// words with blanks between them. A transaction that writes appends one word, its own, to each key that it writes. Its
// condition is that no key it had read was written since.
//
// Every answer tells a revision, and all checks rest on these. A transaction changed everything at its one revision,
// which no other has. A read at a revision shows the result of all writes up to it. Conditions were decided by the
// state at the time. And revisions grow in the order of time, so this order is a strict serialization. A write of
// unknown outcome counts from when its word is first seen, at the revision that is shown with it.
func Txns(ops []history.Op) Result {
	r := Result{}
	names, by := groups(ops, func(op history.Op) string { return op.Key[:strings.LastIndexByte(op.Key, '/')+1] })
	for _, n := range names {
		r.merge(txnGroup(by[n]))
	}
	return r
}

// txnKeys is the check of one group.
type txnKeys struct {
	r      Result
	byWord map[string]history.Op // writing transactions, by the word that they append
	learnt map[string]uint64     // revisions of those of unknown outcome that were seen
	state  map[string]written
}

// written is what a key holds, and the transaction that wrote it.
type written struct {
	history.Entry
	by history.Op
}

func txnGroup(all []history.Op) Result {
	t := &txnKeys{r: Result{Checked: len(useful(all)), Keys: 1}, byWord: map[string]history.Op{},
		learnt: map[string]uint64{}, state: map[string]written{}}
	for _, op := range all {
		if op.Writes() {
			t.byWord[txnWord(op)] = op
		}
	}
	for _, op := range all {
		if op.Outcome == history.OK && op.Matched {
			t.seen(op)
		}
	}
	told := t.told(all)
	var writes, reads []history.Op
	for _, op := range told {
		if op.Matched && op.Writes() {
			writes = append(writes, op)
		} else {
			reads = append(reads, op)
		}
	}
	realTime(&t.r, writes, reads)
	last := history.Op{}
	for _, op := range told {
		if op.Matched && op.Writes() {
			if op.Result == last.Result {
				t.r.add("two at one revision", fmt.Sprintf("two transactions changed something at revision %d",
					op.Result), last, op)
			}
			last = op
		}
		t.replay(op)
	}
	return t.r
}

// txnWord returns the word that a transaction appends.
func txnWord(op history.Op) string {
	for _, p := range op.Parts {
		if p.Writes() {
			return lastWord(p.Value)
		}
	}
	return ""
}

func lastWord(value string) string { return value[strings.LastIndexByte(value, ' ')+1:] }

// told returns the operations of which a revision is known, in its order, writes before reads.
func (t *txnKeys) told(all []history.Op) (out []history.Op) {
	for _, op := range all {
		switch {
		case op.Outcome == history.OK && op.Result == 0 &&
			!op.Matched: // refused at a revision of which nothing was told
		case op.Outcome == history.OK:
			out = append(out, op)
		case op.Outcome == history.Info && op.Writes() && t.learnt[txnWord(op)] > 0:
			op.Matched, op.Result = true, t.learnt[txnWord(op)]
			out = append(out, op)
		}
	}
	changes := func(op history.Op) bool { return op.Matched && op.Writes() }
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Result != out[j].Result {
			return out[i].Result < out[j].Result
		}
		return changes(out[i]) && !changes(out[j])
	})
	return out
}

// seen looks at the newest word of everything that a transaction read.
func (t *txnKeys) seen(op history.Op) {
	if len(op.Entries) != len(op.Parts) {
		t.r.add("answers missing", fmt.Sprintf("a transaction of %d operations has %d answers", len(op.Parts),
			len(op.Entries)), op)
		return
	}
	for i, e := range op.Entries {
		if op.Parts[i].Verb != "get-or-empty" || e.Value == "" {
			continue
		}
		by, tried := t.byWord[lastWord(e.Value)]
		switch {
		case !tried:
			t.r.add("from nowhere", fmt.Sprintf("nobody appended what %s ends with: %q", e.Key, e.Value), op)
		case by.Outcome == history.Fail || by.Outcome == history.OK && !by.Matched:
			t.r.add("refused but done",
				fmt.Sprintf("%s shows a write of which its client was told that it was not done", e.Key), by, op)
		case by.Call > op.Return:
			t.r.add("from the future", fmt.Sprintf("%s shows a write before it was asked for", e.Key), by, op)
		case by.Outcome == history.Info && t.learnt[lastWord(e.Value)] == 0:
			t.learnt[lastWord(e.Value)] = e.Modify
		}
	}
}

// replay carries op out on the state at its revision, and compares the result with its client's answer.
func (t *txnKeys) replay(op history.Op) {
	own := map[string]written{}
	at := func(key string) written {
		if w, ok := own[key]; ok {
			return w
		}
		return t.state[key]
	}
	failed := false
	var rests []history.Op // transactions that made what the conditions are about
	for i, p := range op.Parts {
		now := at(p.Key)
		rests = append(rests, writer(now)...)
		switch {
		case p.Verb == "get-or-empty":
			if op.Outcome == history.OK && op.Matched && i < len(op.Entries) {
				t.compare(op, op.Entries[i], now)
			}
			continue
		case p.Index != now.Modify:
			failed = true
			if op.Matched {
				t.r.add("done on a false condition",
					fmt.Sprintf("at revision %d %s was at %d, the transaction was done on condition that it is at %d",
						op.Result, p.Key, now.Modify, p.Index), append(writer(now), op)...)
			}
		}
		if p.Writes() {
			own[p.Key] = written{history.Entry{Key: p.Key, Value: p.Value, Modify: op.Result}, op}
		}
	}
	switch {
	case op.Matched && op.Outcome == history.OK:
		t.answers(op)
		fallthrough
	case op.Matched:
		for key, w := range own {
			t.state[key] = w
		}
	case !failed:
		t.r.add("refused for nothing",
			fmt.Sprintf("at revision %d all conditions of a transaction held, and it was refused", op.Result),
			append(rests, op)...)
	}
}

func writer(w written) []history.Op {
	if w.by.Kind == "" {
		return nil
	}
	return []history.Op{w.by}
}

// answers checks that every write of a transaction was told to be at its one revision.
func (t *txnKeys) answers(op history.Op) {
	for i, p := range op.Parts {
		if p.Writes() && i < len(op.Entries) && op.Entries[i].Modify != op.Result {
			t.r.add("not one revision", fmt.Sprintf("a transaction at revision %d wrote %s at %d", op.Result, p.Key,
				op.Entries[i].Modify), op)
		}
	}
}

func (t *txnKeys) compare(op history.Op, e history.Entry, now written) {
	if e.Value == now.Value && e.Modify == now.Modify {
		return
	}
	witness := append(writer(now), op)
	if by, ok := t.byWord[lastWord(e.Value)]; ok && by.Outcome != history.Fail && !same(by, now.by) && !same(by, op) {
		witness = append(witness, by)
	}
	t.r.add("torn or lost", fmt.Sprintf("at revision %d %s was %q @%d, the transaction shows %q @%d",
		op.Result, now.keyOr(e.Key), now.Value, now.Modify, e.Value, e.Modify), witness...)
}

func (w written) keyOr(key string) string {
	if w.Key != "" {
		return w.Key
	}
	return key
}
