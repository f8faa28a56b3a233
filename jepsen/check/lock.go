package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/jepsen/history"
)

// Locks checks locks and the keys that they guard. A lock's key ends in "lock", and the guarded key beside it ends in
// "guarded". Holders put words there that nobody else ever puts, each with the token of its lock, which is the lock's
// ModifyIndex.
//
// Two holders never overlap: from when an acquisition is acknowledged until its session may first end, or is asked to
// end, nobody else's is. If fenced, tokens never fall in the order of the writes: so what two holders wrote does not
// interleave, whenever their writes arrive. Else each fall is counted as Shown.
func Locks(ops []history.Op, fenced bool) Result {
	r := Result{}
	names, by := groups(ops, directory)
	sessions := by[""]
	for _, n := range names {
		if n != "" {
			r.merge(lockGroup(by[n], sessions, fenced))
		}
	}
	return r
}

func lockGroup(all, sessions []history.Op, fenced bool) Result {
	r := Result{Checked: len(useful(all)), Keys: 1}
	var guard, locks []history.Op
	for _, op := range all {
		if strings.HasSuffix(op.Key, "/guarded") {
			guard = append(guard, op)
		} else {
			locks = append(locks, op)
		}
	}
	guarded(&r, guard, fenced)
	holders(&r, locks, sessions)
	return r
}

// guarded checks the order of the guarded writes.
func guarded(r *Result, all []history.Op, fenced bool) {
	puts := map[string]history.Op{}
	for _, op := range all {
		if op.Kind == history.Put {
			puts[op.Value] = op
		}
	}
	var reads []history.Op
	for _, op := range all {
		if op.Kind == history.Get && op.Outcome == history.OK && !op.Absent {
			reads = append(reads, op)
			guardedRead(r, op, puts)
		}
	}
	var writes []history.Op
	for _, op := range puts {
		if op.Outcome != history.Fail && op.Result > 0 {
			writes = append(writes, op)
		}
	}
	realTime(r, writes, reads)
	slices.SortFunc(writes, func(a, b history.Op) int { return cmp.Compare(a.Result, b.Result) })
	most := history.Op{}
	for _, op := range writes {
		switch {
		case op.Token >= most.Token:
			most = op
		case fenced:
			r.add("interleaved", fmt.Sprintf("a write under token %d was done after one under %d", op.Token,
				most.Token), most, op)
		default:
			r.Shown++
		}
	}
	refusals(r, all)
}

// guardedRead learns from a read at which revision a write of unknown outcome was done.
func guardedRead(r *Result, read history.Op, puts map[string]history.Op) {
	put, tried := puts[read.Value]
	switch {
	case !tried:
		r.add("from nowhere", fmt.Sprintf("nobody put %q", read.Value), read)
	case put.Outcome == history.Fail:
		r.add("refused but done", fmt.Sprintf("%q is there although its client was told that it was not applied",
			read.Value), put, read)
	case put.Call > read.Return:
		r.add("from the future", fmt.Sprintf("%q was read before it was put", read.Value), put, read)
	case put.Result == 0:
		put.Result = read.Index
		puts[read.Value] = put
	case put.Result != read.Index:
		r.add("wrong revision", fmt.Sprintf("%q is at %d, its client was told %d", read.Value, read.Index, put.Result),
			put, read)
	}
}

// refusals checks that whoever was refused by a fence was so because of a larger token.
func refusals(r *Result, all []history.Op) {
	var began, ends []history.Op
	for _, op := range all {
		if op.Kind != history.Put {
			continue
		}
		if op.Fenced {
			op.Call = op.Return
			ends = append(ends, op)
		} else if op.Outcome != history.Fail {
			op.Return = op.Call
			began = append(began, op)
		}
	}
	most := uint64(0)
	earlier(began, ends, func(op history.Op) { most = max(most, op.Token) }, func(op history.Op) {
		if most <= op.Token {
			r.add("fenced for nothing",
				fmt.Sprintf("a write under token %d was refused, and no write under a larger one had begun", op.Token),
				op)
		}
	})
}

// held is a time in which a session certainly held a lock.
type held struct {
	from, until time.Duration
	ops         []history.Op // that show it, the acquisition first
}

// holders checks that acquisitions exclude one another.
func holders(r *Result, locks, sessions []history.Op) {
	var taken []history.Op
	for _, op := range locks {
		if op.Kind == history.Acquire && op.Done() {
			taken = append(taken, op)
		}
	}
	realTime(r, slices.DeleteFunc(slices.Clone(taken), func(op history.Op) bool { return op.Result == 0 }), nil)
	alive, ends := lives(slices.Concat(sessions, locks)), map[string]history.Op{}
	for _, op := range slices.Concat(locks, sessions) {
		if e, ok := ends[op.Session]; (op.Kind == history.Release || op.Kind == history.Destroy) && (!ok ||
			op.Call < e.Call) {
			ends[op.Session] = op
		}
	}
	var spans []held
	for _, op := range taken {
		life, ok := alive[op.Session]
		if !ok {
			continue
		}
		h := held{op.Return, life.Call + life.TTL, []history.Op{op, life}}
		if e, ok := ends[op.Session]; ok && e.Call < h.until {
			h.until, h.ops = e.Call, append(h.ops, e)
		}
		if h.until > h.from {
			spans = append(spans, h)
		}
	}
	overlaps(r, spans)
}

// lives is, for each session, the acknowledged creation or renewal that keeps it alive for longest: it lives for a TTL
// from its call at least. A lock of the Redis protocol has no session, but a TTL of its own and a value that only its
// holder knows, which stands in the place of one.
func lives(ops []history.Op) map[string]history.Op {
	out := map[string]history.Op{}
	for _, op := range ops {
		lives := op.Kind == history.Create || op.Kind == history.Renew ||
			op.Kind == history.Acquire && op.Matched && op.TTL > 0
		if lives && op.Outcome == history.OK && !op.Absent && op.Call >= out[op.Session].Call {
			out[op.Session] = op
		}
	}
	return out
}

func overlaps(r *Result, spans []held) {
	slices.SortFunc(spans, func(a, b held) int { return cmp.Compare(a.from, b.from) })
	var longest held
	for _, h := range spans {
		if h.from < longest.until && h.ops[0].Session != longest.ops[0].Session {
			r.add("two holders", fmt.Sprintf("%s was locked by two sessions for %v", h.ops[0].Key, min(h.until,
				longest.until)-h.from),
				slices.Concat(longest.ops, h.ops)...)
		}
		if h.until > longest.until {
			longest = h
		}
	}
}
