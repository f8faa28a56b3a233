package check

import (
	"slices"
	"testing"
	"time"

	"tenure/jepsen/history"
)

func swapped(c int, from, to string, matched bool, call, end time.Duration) history.Op {
	return history.Op{Client: c, Kind: history.Swap, Key: "k", Value: to, Matched: matched, Outcome: history.OK, Call: call,
		Return: end, Extra: history.Extra{Redis: history.Redis{From: from, Via: "1"}}}
}

func TestStoriesOfSwaps(t *testing.T) {
	for _, c := range []struct {
		name string
		good bool
		ops  []history.Op
	}{
		{"of what is there", true, []history.Op{put(1, "a", 1, 0, 1*ms), swapped(2, "a", "b", true, 2*ms, 3*ms),
			get(3, "b", 0, 4*ms, 5*ms)}},
		{"of what is not", false, []history.Op{put(1, "a", 1, 0, 1*ms), swapped(2, "x", "b", true, 2*ms, 3*ms)}},
		{"refused for nothing", false, []history.Op{put(1, "a", 1, 0, 1*ms), swapped(2, "a", "b", false, 2*ms, 3*ms)}},
		{"two of one value", false, []history.Op{put(1, "a", 1, 0, 1*ms), swapped(2, "a", "b", true, 2*ms, 5*ms),
			swapped(3, "a", "c", true, 2*ms, 5*ms)}},
		{"of nothing, which is made and deleted meanwhile", false, []history.Op{put(1, "a", 1, 0, 1*ms),
			{Client: 1, Kind: history.Delete, Key: "k", Outcome: history.OK, Call: 2 * ms, Return: 3 * ms},
			swapped(2, "a", "b", true, 4*ms, 5*ms)}},
		{"where nothing is", true, []history.Op{swapped(2, "", "b", true, 0, 1*ms), get(3, "b", 7, 2*ms, 3*ms)}},
		{"unknown, and done late", true, []history.Op{put(1, "a", 1, 0, 1*ms), unknown(swapped(2, "a", "b", false, 2*ms, 3*ms)),
			get(3, "a", 1, 4*ms, 5*ms), get(3, "b", 0, 6*ms, 7*ms)}},
		{"a read without an index after another value", false, []history.Op{put(1, "a", 1, 0, 1*ms), put(1, "b", 2, 2*ms, 3*ms),
			get(2, "a", 0, 4*ms, 5*ms)}},
	} {
		r := RegisterProblems(c.ops, time.Second)
		if (len(r.Problems) == 0) != c.good {
			t.Errorf("%s: %+v", c.name, r.Problems)
		}
	}
}

// sent returns an operation of connection 1, sent at its place. All are under way at the same time.
func sent(order int, kind history.Kind, value string, size int) history.Op {
	return history.Op{Client: order, Kind: kind, Key: "k", Value: value, Outcome: history.OK, Call: time.Duration(order),
		Return: 10 * ms, Extra: history.Extra{Redis: history.Redis{Via: "1", Order: order, Size: size}}}
}

func TestStoriesOfPipelines(t *testing.T) {
	final := func(list string) history.Op { return get(9, list, 0, 20*ms, 21*ms) }
	of := func(op history.Op, o history.Outcome) history.Op {
		op.Outcome = o
		return op
	}
	for _, c := range []struct {
		name string
		want string // the kind of problem
		ops  []history.Op
	}{
		{"in order", "", []history.Op{sent(1, history.Append, " a", 2), sent(2, history.Get, " a", 0),
			sent(3, history.Append, " b", 4), final(" a b")}},
		{"the second before the first", "out of order", []history.Op{sent(1, history.Append, " a", 4),
			sent(2, history.Append, " b", 2), final(" b a")}},
		{"a read before the write before it", "out of order", []history.Op{sent(1, history.Append, " a", 2),
			sent(2, history.Get, "", 0), final(" a")}},
		{"a read after the write behind it", "out of order", []history.Op{sent(1, history.Get, " a", 0),
			sent(2, history.Append, " a", 2), final(" a")}},
		{"one of unknown outcome, late", "out of order", []history.Op{
			of(sent(1, history.Append, " a", 0), history.Info), sent(2, history.Append, " b", 2), final(" b a")}},
		{"the same on two connections", "", []history.Op{of(sent(1, history.Append, " a", 0), history.Info),
			{Client: 5, Kind: history.Append, Key: "k", Value: " b", Outcome: history.OK, Call: 1, Return: 10 * ms,
				Extra: history.Extra{Redis: history.Redis{Via: "2", Order: 2, Size: 2}}}, final(" b a")}},
		{"one that is not there", "lost append", []history.Op{sent(1, history.Append, " a", 2), sent(2, history.Append, " b", 4),
			final(" a")}},
		{"one that is elsewhere", "lost append", []history.Op{sent(1, history.Append, " a", 2), final(" b a"),
			of(sent(2, history.Append, " b", 0), history.Info)}},
		{"one that was refused", "refused but done", []history.Op{of(sent(1, history.Append, " a", 0), history.Fail),
			final(" a")}},
		{"one twice", "duplicate", []history.Op{sent(1, history.Append, " a", 2), final(" a a")}},
	} {
		r := Append(c.ops)
		found := slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == c.want })
		if found != (c.want != "") || c.want == "" && len(r.Problems) > 0 {
			t.Errorf("%s: %+v", c.name, r.Problems)
		}
	}
}

func TestStoriesOfIncrements(t *testing.T) {
	incr := func(n string, tries int, o history.Outcome, call, end time.Duration) history.Op {
		return history.Op{Kind: history.Incr, Key: "k", Value: n, Outcome: o, Call: call, Return: end,
			Extra: history.Extra{Redis: history.Redis{Via: "1", Tries: tries}}}
	}
	for _, c := range []struct {
		name, want string
		ops        []history.Op
	}{
		{"each once", "", []history.Op{incr("1", 1, history.OK, 0, ms), incr("2", 3, history.OK, 2*ms, 3*ms),
			get(1, "2", 5, 4*ms, 5*ms)}},
		{"one twice, as it was sent twice", "too many", []history.Op{incr("1", 2, history.OK, 0, ms), get(1, "2", 5, 4*ms, 5*ms)}},
		{"one that nobody knows of", "", []history.Op{incr("", 1, history.Info, 0, history.Forever), get(1, "1", 5, 4*ms, 5*ms)}},
		{"two made one number", "lost increment", []history.Op{incr("1", 1, history.OK, 0, ms),
			incr("1", 1, history.OK, 0, ms)}},
		{"one is lost", "lost increment", []history.Op{incr("1", 1, history.OK, 0, ms), get(1, "0", 1, 4*ms, 5*ms)}},
	} {
		r := Counter(c.ops)
		found := slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind == c.want })
		if found != (c.want != "") || c.want == "" && len(r.Problems) > 0 {
			t.Errorf("%s: %+v", c.name, r.Problems)
		}
	}
}

// A lock of the Redis protocol is held for its own TTL.
func TestLocksWithoutSessions(t *testing.T) {
	lock := func(mine string, token uint64, call, end time.Duration) history.Op {
		return history.Op{Kind: history.Acquire, Key: "lock/0/lock", Value: mine, Matched: true, Result: token,
			Outcome: history.OK, Call: call, Return: end, Extra: history.Extra{Session: mine, TTL: 100 * ms, Token: token}}
	}
	first := lock("a", 1, 0, ms)
	release := history.Op{Kind: history.Release, Key: "lock/0/lock", Matched: true, Outcome: history.OK, Call: 5 * ms,
		Return: 6 * ms, Extra: history.Extra{Session: "a"}}
	for _, c := range []struct {
		name string
		good bool
		ops  []history.Op
	}{
		{"one after the other's time", true, []history.Op{first, lock("b", 2, 102*ms, 103*ms)}},
		{"one in the other's time", false, []history.Op{first, lock("b", 2, 50*ms, 51*ms)}},
		{"one after a release", true, []history.Op{first, release, lock("b", 2, 7*ms, 8*ms)}},
		{"one whose revision is not known", true, []history.Op{lock("a", 5, 0, ms), lock("b", 0, 102*ms, 103*ms)}},
	} {
		if r := Locks(c.ops, true); (len(r.Problems) == 0) != c.good {
			t.Errorf("%s: %+v", c.name, r.Problems)
		}
	}
}
