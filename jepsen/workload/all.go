package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
)

// Workload is what clients do, and how what they saw is judged.
type Workload struct {
	Name string
	Says string // in one line
	// Drive has the clients at work until ctx ends.
	Drive func(ctx context.Context, cfg Config, rec *history.Recorder) error
	// Check judges the history. It may take minutes.
	Check func([]history.Op) check.Result
	Flags []string // for every node
	// Timed: what is promised rests on clocks whose rates err by no more than they may.
	Timed bool
	// Least is what must have happened so that the run tested anything: what Result.Counts of the checker says.
	Least []Least
	// Shows is what must have been seen at least once, so that the run shows what it is there for; "" if nothing must.
	Shows string
}

// Least is a minimum: of so many operations that a nemesis asks for, at least one must be this.
type Least struct {
	What string
	Of   int
}

const (
	checkTimeout = 60 * time.Second // for one register
	setBatch     = 50               // keys below a prefix of the set
	growers      = 5                // clients that grow one list or counter
	listWords    = 100              // appends tried before a group goes on to a new list
	listWriters  = 5                // clients below one listed prefix
	listKeys     = 4                // that a client puts in turn
	finalTries   = 20
)

// All are the workloads, in the order of the matrix.
func All() []Workload {
	return []Workload{
		{Name: "register", Says: "gets, puts, compare-and-set and deletes of shared keys", Drive: Registers,
			Check: func(ops []history.Op) check.Result { return check.RegisterProblems(ops, checkTimeout) }},
		{Name: "set", Says: "keys put once each, and lists of them", Drive: sets, Check: check.Set},
		{Name: "append", Says: "lists in one key that grow by compare-and-set", Drive: appends, Check: check.Append},
		{Name: "counter", Says: "increments by compare-and-set", Drive: counters, Check: check.Counter},
		{Name: "list", Says: "lists of a prefix while other clients put and prune below it", Drive: lists, Check: check.Lists},
		{Name: "txn", Says: "lists in several keys that grow together by transactions", Drive: txns, Check: check.Txns},
		{Name: "lock", Says: "locks, and what they guard, written without a fence: holders exclude one another, and writes of paused ones interleave",
			Drive: locks(false), Check: func(ops []history.Op) check.Result { return check.Locks(ops, false) }, Flags: []string{lockTTLFlag}, Timed: true,
			Shows: "writes of earlier holders after those of later ones were seen"},
		{Name: "lock-fenced", Says: "the same with fences: nothing interleaves", Drive: locks(true),
			Check: func(ops []history.Op) check.Result { return check.Locks(ops, true) }, Flags: []string{lockTTLFlag}, Timed: true},
		{Name: "session", Says: "sessions that are renewed, released, destroyed or left to end, and what becomes of their locks", Drive: sessions,
			Check: check.Sessions, Flags: []string{lockTTLFlag}, Timed: true},
		leaseWorkload("lease", "named leases of 10 names without fences: owners exclude one another, and writes of paused ones interleave", 10, false),
		leaseWorkload("lease-1", "the same of one name, with fences: nothing interleaves, tokens grow", 1, true),
		leaseWorkload("lease-10", "of 10 names, with fences", 10, true),
		leaseWorkload("lease-1000", "of 1,000 names, each client owns many together, with fences", 1000, true),
		{Name: "watch", Says: "streams of changes and queries that wait for them, while others put, delete and prune", Drive: watches, Check: check.Watch},
	}
}

// ByName is the workload with that name.
func ByName(name string) (Workload, error) {
	for _, w := range All() {
		if w.Name == name {
			return w, nil
		}
	}
	var names []string
	for _, w := range All() {
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("no workload is named %q; there are %s", name, strings.Join(names, ", "))
}

// Final reads once more, by a quorum, all that the history speaks of: what was lost must not escape because nobody
// looked. Registers are looked at all the time by clients that move on, so their last state is read too.
func Final(ctx context.Context, cfg Config, rec *history.Recorder) error {
	keys, prefixes, together := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, op := range rec.Ops() {
		switch part := strings.SplitN(op.Key, "/", 2)[0]; {
		case part == "set" || part == "list":
			prefixes[listed(op.Key)] = true
		case part == "txn":
			together[op.Key[:strings.LastIndexByte(op.Key, '/')+1]] = true
		case part == "lock" || part == "leased":
			keys[op.Key[:strings.LastIndexByte(op.Key, '/')+1]+"guarded"] = true
		case part == "" || part == "watch" || part == "session": // of sessions; watchers end by having seen everything
		default:
			keys[op.Key] = true
		}
	}
	w, err := newWorker(cfg, rec, cfg.Clients)
	if err != nil {
		return err
	}
	defer w.close()
	read := func(names map[string]bool, f func(string, bool) history.Op) error {
		for _, n := range sorted(names) {
			for try := 0; f(n, true).Outcome != history.OK; try++ {
				if try == finalTries || ctx.Err() != nil {
					return fmt.Errorf("%s could not be read at the end", n)
				}
			}
		}
		return nil
	}
	group := func(name string, _ bool) history.Op { return w.readAll(name, []int{0, 1, 2, 3}[:txnKeys]) }
	return errors.Join(read(keys, w.get), read(prefixes, w.list), read(together, group))
}

// listed is the prefix by which a key of the set or list workload is listed.
func listed(key string) string {
	parts := strings.SplitAfter(key, "/")
	n := 2
	if parts[0] == "set/" {
		n = 3
	}
	return strings.Join(parts[:min(n, len(parts))], "")
}

func sorted(set map[string]bool) (out []string) {
	for s := range set {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// sets: each client fills one batch after the other, and looks at what others filled.
func sets(ctx context.Context, cfg Config, rec *history.Recorder) error {
	return each(ctx, cfg, rec, func(w *worker) {
		if w.random.IntN(100) < 25 {
			of, batch := w.id, w.serial/setBatch
			if w.random.IntN(2) == 0 {
				of = w.random.IntN(cfg.Clients)
			}
			w.list(fmt.Sprintf("set/%d/%d/", of, max(0, batch-w.random.IntN(2))), w.random.IntN(2) == 0)
			return
		}
		batch := w.serial / setBatch
		word := w.word()
		w.put(fmt.Sprintf("set/%d/%d/%s", w.id, batch, word), word)
	})
}

// appends: read, then write what was read and a word more if nobody was faster.
func appends(ctx context.Context, cfg Config, rec *history.Recorder) error {
	return grow(ctx, cfg, rec, "append", listWords, func(w *worker, value string) string {
		return strings.TrimSpace(value + " " + w.word())
	})
}

func counters(ctx context.Context, cfg Config, rec *history.Recorder) error {
	return grow(ctx, cfg, rec, "counter", 100*listWords, func(_ *worker, value string) string {
		n, _ := strconv.ParseInt(value, 10, 64) // the checker finds what is not a number
		return strconv.FormatInt(n+1, 10)
	})
}

func grow(ctx context.Context, cfg Config, rec *history.Recorder, name string, uses int, next func(*worker, string) string) error {
	rings := make([]*keyring, (cfg.Clients+growers-1)/growers)
	for i := range rings {
		rings[i] = &keyring{prefix: fmt.Sprintf("%s/%d/", name, i), limit: uses}
	}
	return each(ctx, cfg, rec, func(w *worker) {
		key := rings[w.id/growers].next()
		if read := w.get(key, w.random.IntN(4) == 0); read.Outcome == history.OK {
			w.cas(key, next(w, read.Value), read.Index)
		}
	})
}

// lists: each client puts a few keys in turn below a prefix of its own and now and then prunes it, and lists its
// group's. After a write of unknown outcome it goes on below another prefix.
func lists(ctx context.Context, cfg Config, rec *history.Recorder) error {
	epoch := make([]int, cfg.Clients)
	return each(ctx, cfg, rec, func(w *worker) {
		group := fmt.Sprintf("list/%d/", w.id/listWriters)
		mine := fmt.Sprintf("%s%d.%d/", group, w.id, epoch[w.id])
		var op history.Op
		switch p := w.random.IntN(100); {
		case p < 40:
			op = w.list(group, p%2 == 0)
		case p < 44:
			op = w.prune(mine)
		default:
			op = w.put(fmt.Sprintf("%sk%d", mine, w.serial%listKeys), w.word())
		}
		if op.Outcome == history.Info && op.Writes() {
			epoch[w.id]++
		}
	})
}
