package named

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// draws is a random request to a table.
func draws(t *rapid.T) Request {
	return Request{
		Kind:        rapid.SampledFrom([]Kind{Prepare, Prepare, Accept, Accept, Accept, Release, Withdraw}).Draw(t, "kind"),
		Name:        nameOf(rapid.SampledFrom([]string{"n", "m"}).Draw(t, "name")),
		Counter:     rapid.Uint64Range(1, 4).Draw(t, "counter"),
		Acquisition: acquisitionOf(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "acquisition")),
		Token:       first(uint32(rapid.IntRange(1, 5).Draw(t, "token"))),
		Duration:    time.Duration(rapid.IntRange(1, 4).Draw(t, "length")) * ms,
	}
}

func drawsFrom(t *rapid.T) ballot.Incarnation {
	return ballot.Incarnation{Node: ballot.NodeID(rapid.IntRange(1, 2).Draw(t, "from")), Restart: 1}
}

// Equal bytes mean equal answers from then on, whatever led there and whatever the clock reads.
func TestTableStateDecidesTheFuture(t *testing.T) {
	const apart = time.Hour
	rapid.Check(t, func(t *rapid.T) {
		now := at
		x, y := opened(t, testConfig(), now), opened(t, testConfig(), now+apart)
		if rapid.Bool().Draw(t, "another past") { // which leaves nothing behind but the floor
			y.Handle(now+apart, other, Request{Kind: Accept, Name: nameOf("z"), Counter: 1, Acquisition: acquisitionOf("z"),
				Token: first(3), Duration: ms})
			y.Handle(now+apart, other, Request{Kind: Release, Name: nameOf("z"), Counter: 1, Acquisition: acquisitionOf("z")})
			y.Sweep(now+apart+2*ms, 9)
			x.raise(first(3))
			now += 2 * ms
		}
		for range 30 {
			if string(x.AppendState(nil, now)) != string(y.AppendState(nil, now+apart)) {
				t.Fatal("states differ")
			}
			if rapid.IntRange(0, 3).Draw(t, "pass") == 0 {
				now += rapid.SampledFrom([]time.Duration{1, ms, 3 * ms}).Draw(t, "time")
				x.Sweep(now, 9)
				y.Sweep(now+apart, 9)
				continue
			}
			q, from := draws(t), drawsFrom(t)
			rx, okx := x.Handle(now, from, q)
			ry, oky := y.Handle(now+apart, from, q)
			if rx != ry || okx != oky {
				t.Fatalf("%+v is answered with %+v and %+v", q, rx, ry)
			}
		}
	})
}

// AppendState shows all that matters, and no trace of ended leases.
func TestTableStateShowsWhatMatters(t *testing.T) {
	seen := map[string]string{}
	note := func(what string, table *Table, now time.Duration) {
		s := string(table.AppendState(nil, now))
		if before, ok := seen[s]; ok {
			t.Errorf("%q looks like %q", what, before)
		}
		seen[s] = what
	}
	fresh, err := NewTable(testConfig(), at)
	if err != nil {
		t.Fatal(err)
	}
	note("not open", fresh, at)
	fresh.raise(first(0))
	note("not open, floor", fresh, at)
	c := testConfig()
	c.SilentUntil = at + 5*ms
	silent := opened(t, c, at)
	note("silent", silent, at)
	note("silent, less", silent, at+ms)
	table := opened(t, testConfig(), at)
	note("open", table, at)
	does(t, table, at, prepareOf(1), Promise)
	note("promised", table, at)
	does(t, table, at, prepareOf(2), Promise)
	note("promised more", table, at)
	does(t, table, at, acceptOf(2, "a", first(1)), Accepted)
	note("accepted", table, at)
	renewed := table.Clone()
	does(t, renewed, at+1, acceptOf(2, "a", first(2)), Accepted)
	note("another token", renewed, at+1)
	does(t, renewed, at+2, acceptOf(3, "a", first(2)), Accepted)
	note("not fresh", renewed, at+2)
	note("less left", table, at+ms)
	note("over", table, at+510*ms)
	does(t, table, at+510*ms, releaseOf("a"), Released)
	if seen[string(table.AppendState(nil, at+510*ms))] != "over" {
		t.Error("released is not over")
	}
	table.raise(first(7))
	note("floor", table, at+510*ms)
	table.Sweep(at+600*ms, 9)
	note("dropped", table, at+600*ms)
}

// A clone is independent of its original, both ways.
func TestTableCloneIsIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := at
		x := opened(t, testConfig(), now)
		work := func(table *Table, n int) {
			for range n {
				q := draws(t)
				q.Owner = rapid.SampledFrom([]string{"", "p", "q"}).Draw(t, "owner")
				from := drawsFrom(t)
				from.Nonce = rapid.Uint64Range(1, 3).Draw(t, "nonce")
				table.Handle(now, from, q)
			}
			if rapid.Bool().Draw(t, "sweep") {
				table.Sweep(now+5*ms, 3)
			}
		}
		work(x, 10)
		y := x.Clone()
		was := string(x.AppendState(nil, now))
		lx, _ := x.Live(now, nameOf("n"))
		work(y, 10)
		if l, _ := x.Live(now, nameOf("n")); string(x.AppendState(nil, now)) != was || l != lx {
			t.Fatal("the clone's change shows in the original")
		}
		was = string(y.AppendState(nil, now))
		work(x, 10)
		if string(y.AppendState(nil, now)) != was {
			t.Fatal("the original's change shows in the clone")
		}
	})
}

// As TestTableStateDecidesTheFuture, for attempts.
func TestAttemptStateDecidesTheFuture(t *testing.T) {
	const apart = time.Hour
	rapid.Check(t, func(t *rapid.T) {
		now := at
		q := ask("a")
		q.Renewal = rapid.Bool().Draw(t, "renewal")
		x, y := Begin(now, q, quorum.Of(1, 2, 3), 3), Begin(now+apart, q, quorum.Of(1, 2, 3), 3)
		for range 12 {
			if string(x.AppendState(nil, now)) != string(y.AppendState(nil, now+apart)) {
				t.Fatal("states differ")
			}
			r := drawsReply(t)
			from := ballot.NodeID(rapid.IntRange(1, 4).Draw(t, "from"))
			if mx, my := x.Handle(now, from, r), y.Handle(now+apart, from, r); mx != my {
				t.Fatalf("%+v moves %v and %v", r, mx, my)
			}
			qx, tx := x.Requests(now)
			qy, ty := y.Requests(now + apart)
			wx, ux := x.Withdrawal()
			wy, uy := y.Withdrawal()
			if qx != qy || tx != ty || x.End() != y.End() || x.Reported() != y.Reported() || wx != wy || ux != uy {
				t.Fatalf("sends %+v and %+v", qx, qy)
			}
			now += rapid.SampledFrom([]time.Duration{0, 0, ms, 100 * ms}).Draw(t, "pass")
		}
	})
}

func drawsReply(t *rapid.T) Reply {
	r := Reply{
		Kind: rapid.SampledFrom([]Kind{Promise, Promise, PrepareRejected, Accepted, AcceptRejected}).Draw(t,
			"kind"), Name: nameOf("n"), Counter: 3,
		Report: first(uint32(rapid.IntRange(1, 3).Draw(t, "report"))),
	}
	switch rapid.IntRange(0, 3).Draw(t, "live") {
	case 0:
		r.Live, r.LiveAcquisition, r.LiveToken = true, acquisitionOf("a"), r.Report
	case 1:
		r.Live, r.LiveAcquisition, r.LiveToken = true, acquisitionOf("b"), first(1)
	}
	if r.Kind == PrepareRejected || r.Kind == AcceptRejected {
		r.Promised = rapid.Uint64Range(0, 9).Draw(t, "promised")
		r.Full = rapid.Bool().Draw(t, "full")
	}
	return r
}
