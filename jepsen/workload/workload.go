package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/check"
	"tenure/jepsen/history"
)

// Config says who drives what.
type Config struct {
	Endpoints []string
	Redis     []string // addresses for clients of Redis, for workloads that have such
	Clients   int
	Timeout   time.Duration // of one operation
	Seed      uint64
	// ConsistentOnly is for clocks that err by more than they may: default reads promise nothing then.
	ConsistentOnly bool
	// Learn is how many of the endpoints the clients of package client are given, which learn the others from the
	// members. 0: they are given all, and learn none, since endpoints may be proxies.
	Learn int
	TLS   *client.TLS // nil: the endpoints speak none
	// TokenFile has the secret of the token that the clients use at the time; "": none.
	TokenFile string
}

// Workload is what clients do, and how what they saw is checked.
type Workload struct {
	Name string
	Says string // in one line
	// Drive runs the clients until ctx ends.
	Drive func(ctx context.Context, cfg Config, rec *history.Recorder) error
	// Check checks the history. It may take minutes.
	Check func([]history.Op) check.Result
	Flags []string // for every node
	Redis bool     // nodes speak the Redis protocol, too
	// Timed workloads test promises that need clocks whose rates err by no more than they may.
	Timed bool
	// Least is what must have happened, by Result.Counts of the checker, for the run to have tested anything.
	Least []Least
	// Shows is the effect that must have been seen at least once for the run to count; "" if none must.
	Shows string
}

// Least is a minimum: of every Of operations that a nemesis asks for, at least one must be a What.
type Least struct {
	What string
	Of   int
}

// checkTimeout bounds the check of one register.
const checkTimeout = 60 * time.Second

// All returns the workloads, in the order of the matrix.
func All() []Workload {
	return []Workload{
		{
			Name: "register", Says: "gets, puts, compare-and-set and deletes of shared keys",
			Drive: Registers,
			Check: func(ops []history.Op) check.Result { return check.RegisterProblems(ops, checkTimeout) },
		},
		{Name: "set", Says: "keys put once each, and lists of them", Drive: sets, Check: check.Set},
		{
			Name: "append", Says: "lists in one key that grow by compare-and-set",
			Drive: appends, Check: check.Append,
		},
		{Name: "counter", Says: "increments by compare-and-set", Drive: counters, Check: check.Counter},
		{
			Name: "list", Says: "lists of a prefix while other clients put and prune below it",
			Drive: lists, Check: check.Lists,
		},
		{
			Name: "txn", Says: "lists in several keys that grow together by transactions",
			Drive: txns, Check: check.Txns,
		},
		{
			Name: "lock", Says: "locks, and what they guard, written without a fence: " +
				"holders exclude one another, and writes of paused ones interleave",
			Drive: locks(false), Check: func(ops []history.Op) check.Result { return check.Locks(ops, false) },
			Flags: []string{lockTTLFlag}, Timed: true,
			Shows: "writes of earlier holders after those of later ones were seen",
		},
		{
			Name: "lock-fenced", Says: "the same with fences: nothing interleaves",
			Drive: locks(true), Check: func(ops []history.Op) check.Result { return check.Locks(ops, true) },
			Flags: []string{lockTTLFlag}, Timed: true,
		},
		{
			Name: "session", Says: "sessions that are renewed, released, destroyed or left to end, " +
				"and what becomes of their locks",
			Drive: sessions, Check: check.Sessions, Flags: []string{lockTTLFlag}, Timed: true,
		},
		leaseWorkload("lease", "named leases of 10 names without fences: "+
			"owners exclude one another, and writes of paused ones interleave", 10, false),
		leaseWorkload("lease-1", "the same of one name, with fences: nothing interleaves, tokens grow", 1, true),
		leaseWorkload("lease-10", "of 10 names, with fences", 10, true),
		leaseWorkload("lease-1000", "of 1,000 names, each client owns many together, with fences", 1000, true),
		{
			Name: "watch", Says: "streams of changes and queries that wait for them, " +
				"while others put, delete and prune",
			Drive: watches, Check: check.Watch,
		},
		redisWorkload("redis-register", "the same as register, two clients of three over the Redis protocol", redisRegisters,
			func(ops []history.Op) check.Result { return check.RegisterProblems(ops, checkTimeout) }),
		redisWorkload("redis-counter", "INCR beside increments by compare-and-set over HTTP", redisCounters(false),
			check.Counter),
		redisWorkload("redis-once", "the same with TENURE.ONCE, sent again until it is answered", redisCounters(true),
			check.Counter, Least{What: check.Repeated, Of: 50}),
		redisWorkload("redis-append", "lists that grow by WATCH, MULTI and EXEC beside HTTP", redisAppends, check.Append),
		redisWorkload("redis-pipeline", "APPEND and GET, several in one write: they take effect in that order",
			redisPipelines, check.Append),
		redisLockWorkload(),
	}
}

// redisWorkload returns a workload over both protocols.
func redisWorkload(
	name, says string, drive func(context.Context, Config, *history.Recorder) error, of func([]history.Op) check.Result,
	least ...Least,
) Workload {
	counted := func(ops []history.Op) check.Result {
		r := of(ops)
		if r.Counts == nil {
			r.Counts = map[string]int{}
		}
		for i := range ops {
			if ops[i].Via != "" && ops[i].Outcome == history.OK {
				r.Counts[overRedis]++
			}
		}
		return r
	}
	return Workload{Name: name, Says: says, Drive: drive, Check: counted, Redis: true,
		Least: append(least, Least{What: overRedis, Of: 3})}
}

// overRedis is what redisWorkload counts.
const overRedis = "over the Redis protocol"

func redisLockWorkload() Workload {
	w := redisWorkload("redis-lock", "SET NX PX, fenced by the revision of the lock, beside HTTP: holders exclude one "+
		"another, and nothing interleaves", redisLocks, func(ops []history.Op) check.Result { return check.Locks(ops, true) })
	w.Timed = true
	return w
}

// ByName returns the workload with that name.
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
