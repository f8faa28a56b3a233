package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/jepsen/history"
)

// good makes histories that a correct store has told: clients take turns at random, each operation takes effect at one
// instant between its call and its return, and some writes are of unknown outcome.
type good struct {
	random *rand.Rand
	rev    uint64
	keys   map[string]history.Entry
	serial int
	last   map[int]history.Op // by client
	epoch  map[int]int
	ops    []history.Op
}

type author func(g *good, client int) history.Op

// tell makes a history of n operations of a few clients; the last are reads, one after another.
func tell(seed uint64, n int, next author, final ...history.Op) []history.Op {
	g := &good{random: rand.New(rand.NewPCG(seed, 1)), keys: map[string]history.Entry{}, last: map[int]history.Op{},
		epoch: map[int]int{}}
	type turn struct {
		client             int
		call, effect, done time.Duration
	}
	const clients = 4
	var turns []turn
	for c := range clients {
		at := time.Duration(0)
		for range n / clients {
			t := turn{client: c}
			t.call = at + time.Duration(1+g.random.IntN(50))
			t.effect = t.call + time.Duration(1+g.random.IntN(50))
			t.done = t.effect + time.Duration(1+g.random.IntN(50))
			turns, at = append(turns, t), t.done
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.effect, b.effect) })
	end := time.Duration(0)
	for _, t := range turns {
		op := next(g, t.client)
		op.Client, op.Call, op.Return, op.Outcome = t.client, t.call, t.done, history.OK
		unknown := op.Writes() && g.random.IntN(20) == 0
		if !unknown || g.random.IntN(2) == 0 {
			g.apply(&op)
		}
		if unknown {
			op.Outcome, op.Result, op.Matched, op.Return = history.Info, 0, op.Kind == history.CAS, history.Forever
			g.epoch[t.client]++
		}
		g.last[t.client] = op
		g.ops = append(g.ops, op)
		end = max(end, t.done)
	}
	for _, op := range final {
		op.Call, op.Return, op.Outcome = end+10, end+20, history.OK
		end += 20
		g.apply(&op)
		g.ops = append(g.ops, op)
	}
	return g.ops
}

func (g *good) word() string {
	g.serial++
	return fmt.Sprintf("w%d", g.serial)
}

func (g *good) apply(op *history.Op) {
	e, there := g.keys[op.Key]
	switch op.Kind {
	case history.Get:
		op.Absent, op.Value, op.Index = !there, e.Value, e.Modify
	case history.List:
		op.Index = g.rev
		for k, e := range g.keys {
			if strings.HasPrefix(k, op.Key) {
				op.Entries = append(op.Entries, e)
			}
		}
		slices.SortFunc(op.Entries, func(a, b history.Entry) int { return cmp.Compare(a.Key, b.Key) })
	case history.Txn:
		g.txn(op)
	case history.CAS:
		if op.Matched = e.Modify == op.Index; op.Matched {
			g.put(op)
		}
	case history.Put:
		g.put(op)
	case history.Delete:
		g.rev++
		delete(g.keys, op.Key)
		op.Result = g.rev
	case history.Prune:
		g.rev++
		for k := range g.keys {
			if strings.HasPrefix(k, op.Key) {
				delete(g.keys, k)
			}
		}
		op.Result = g.rev
	}
}

// txn carries out the parts in turn, or none.
func (g *good) txn(op *history.Op) {
	own, failed := map[string]history.Entry{}, false
	writes := op.Writes()
	op.Entries = nil
	for _, p := range op.Parts {
		e, mine := own[p.Key]
		if !mine {
			e = g.keys[p.Key]
		}
		if p.Verb != "get-or-empty" {
			failed = failed || e.Modify != p.Index
		}
		if p.Verb == "cas" {
			e = history.Entry{Key: p.Key, Value: p.Value, Create: g.rev + 1, Modify: g.rev + 1}
			own[p.Key] = e
		}
		e.Key = p.Key
		op.Entries = append(op.Entries, e)
	}
	op.Matched, op.Result = !failed, g.rev
	if failed {
		op.Entries = nil
		return
	}
	if writes {
		g.rev++
		op.Result = g.rev
		for k, e := range own {
			g.keys[k] = e
		}
	}
}

func (g *good) put(op *history.Op) {
	g.rev++
	e := history.Entry{Key: op.Key, Value: op.Value, Create: g.rev, Modify: g.rev}
	if old, ok := g.keys[op.Key]; ok {
		e.Create = old.Create
	}
	g.keys[op.Key] = e
	op.Result = g.rev
}

func registerAuthor(g *good, client int) history.Op {
	switch g.random.IntN(6) {
	case 0:
		return history.Op{Kind: history.Put, Key: "k", Value: g.word()}
	case 1:
		return history.Op{Kind: history.CAS, Key: "k", Value: g.word(), Index: g.last[client].Index}
	case 2:
		if g.random.IntN(4) == 0 {
			return history.Op{Kind: history.Delete, Key: "k"}
		}
	}
	return history.Op{Kind: history.Get, Key: "k"}
}

func setAuthor(g *good, client int) history.Op {
	if g.random.IntN(5) == 0 {
		return history.Op{Kind: history.List, Key: "set/"}
	}
	w := g.word()
	return history.Op{Kind: history.Put, Key: "set/" + w, Value: w}
}

// grower alternates between reading and a cas that makes the next value of what was read.
func grower(key string, grow func(g *good, value string) string) author {
	return func(g *good, client int) history.Op {
		before := g.last[client]
		if before.Kind != history.Get {
			return history.Op{Kind: history.Get, Key: key}
		}
		return history.Op{Kind: history.CAS, Key: key, Value: grow(g, before.Value), Index: before.Index}
	}
}

func appended(g *good, value string) string { return strings.TrimSpace(value + " " + g.word()) }

func incremented(_ *good, value string) string {
	n, _ := strconv.Atoi(value)
	return strconv.Itoa(n + 1)
}

// txnAuthor alternates between reading keys in one transaction and one that appends to them.
func txnAuthor(g *good, client int) history.Op {
	before := g.last[client]
	if before.Kind != history.Txn || before.Writes() || len(before.Entries) == 0 {
		return txnRead(g.random.Perm(3)[:2]...)
	}
	word := g.word()
	op := history.Op{Kind: history.Txn, Key: before.Key}
	for _, e := range before.Entries {
		op.Parts = append(op.Parts, history.Part{Verb: "cas", Key: e.Key, Index: e.Modify,
			Value: strings.TrimSpace(e.Value + " " + word)})
	}
	switch g.random.IntN(6) {
	case 0:
		op.Parts = append(op.Parts, history.Part{Verb: "check-index", Key: op.Key, Index: 1 << 40})
	case 1:
		op.Parts = append(op.Parts, history.Part{Verb: "get-or-empty", Key: op.Key})
	}
	return op
}

func txnRead(keys ...int) history.Op {
	op := history.Op{Kind: history.Txn, Key: "txn/0/"}
	for _, k := range keys {
		op.Parts = append(op.Parts, history.Part{Verb: "get-or-empty", Key: fmt.Sprintf("txn/0/k%d", k)})
	}
	return op
}

func listAuthor(g *good, client int) history.Op {
	mine := fmt.Sprintf("list/0/%d.%d/", client, g.epoch[client])
	switch p := g.random.IntN(10); {
	case p < 3:
		return history.Op{Kind: history.List, Key: "list/0/"}
	case p < 4:
		return history.Op{Kind: history.Prune, Key: mine}
	}
	return history.Op{Kind: history.Put, Key: fmt.Sprintf("%sk%d", mine, g.random.IntN(3)), Value: g.word()}
}
