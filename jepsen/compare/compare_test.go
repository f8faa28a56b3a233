package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
)

// short is a comparison at a small scale: about a second.
var short = sync.OnceValue(func() Result {
	seeds := 10
	if testing.Short() {
		seeds = 5
	}
	return must(Run(context.Background(), Options{Params: DefaultParams, Seeds: seeds, Start: 1}))
})

func (r Result) cost(core string) Cost {
	for _, c := range r.Costs {
		if c.Core == core {
			return c
		}
	}
	return Cost{}
}

func (r Result) among(core string, n int) Contention {
	for _, c := range r.Contention {
		if c.Core == core && c.Contenders == n {
			return c
		}
	}
	return Contention{}
}

// What docs/leases-compared.md says of them must stay so.
func TestTheFactsOfTheTables(t *testing.T) {
	r := short()
	paxos, fl, vote := r.cost("PaxosLease"), r.cost("Flease"), r.cost("majority vote")
	for _, c := range []struct {
		core Cost
		want Cost
	}{
		{paxos, Cost{AcquireMessages: 8, AcquireRounds: 2, RenewMessages: 8, RenewRounds: 2, Renews: true,
			RestartWait: 1031 * time.Millisecond}},
		{fl, Cost{AcquireMessages: 8, AcquireRounds: 2, RenewMessages: 8, RenewRounds: 2, Renews: true,
			RestartWait: 1150 * time.Millisecond}},
		{vote, Cost{AcquireMessages: 4, AcquireRounds: 1, RestartWait: 1031 * time.Millisecond}},
	} {
		got := Cost{AcquireMessages: c.core.AcquireMessages, AcquireRounds: c.core.AcquireRounds,
			RenewMessages: c.core.RenewMessages,
			RenewRounds:   c.core.RenewRounds, Renews: c.core.Renews, RestartWait: c.core.RestartWait}
		if got != c.want {
			t.Errorf("%s costs %+v, not %+v", c.core.Core, got, c.want)
		}
	}
	if paxos.LeaveTime >= fl.LeaveTime/4 || paxos.LeaveTime == 0 {
		t.Errorf("a lease that is left is taken after %v, with no release after %v", paxos.LeaveTime, fl.LeaveTime)
	}
	if paxos.FailoverNone+fl.FailoverNone != 0 {
		t.Error("nobody owns any more after one of three nodes is lost")
	}
	for _, n := range contenders {
		p, f, v := r.among("PaxosLease", n), r.among("Flease", n), r.among("majority vote", n)
		if p.FirstBlocked != 0 || f.FirstBlocked != 0 || v.FirstBlocked < 0.5 {
			t.Errorf("%d that begin at once: blocked in %v, %v, %v of the runs", n, p.FirstBlocked, f.FirstBlocked,
				v.FirstBlocked)
		}
		if n == 9 && (v.Idle < 1.5*p.Idle || v.Idle < 1.5*f.Idle || v.Blocked <= f.Blocked || p.Blocked > 0) {
			t.Errorf("9 contenders: nobody owns for %v, %v, %v of the time, and %v, %v, %v of the gaps are long",
				p.Idle, f.Idle, v.Idle, p.Blocked, f.Blocked, v.Blocked)
		}
		if p.Leases < 10 || f.Leases < 10 {
			t.Errorf("only %v and %v leases in a run", p.Leases, f.Leases)
		}
	}
}

// Within what an algorithm asks of clocks there are never two owners; and where Flease asks more than PaxosLease does,
// it shows.
func TestWhichClockFaultsBreakWhich(t *testing.T) {
	r := short()
	for _, row := range r.Clocks {
		for _, c := range row.Cells {
			if c.Within && c.Two > 0 {
				t.Errorf("%s: %s has two owners in %d of %d runs", row.Fault, c.Core, c.Two, row.Runs)
			}
			if c.Within && c.Leases < 3*row.Runs {
				t.Errorf("%s: %s won %d leases in %d runs: that tests little", row.Fault, c.Core, c.Leases, row.Runs)
			}
		}
	}
	two := func(fault, core string) int {
		for _, row := range r.Clocks {
			for _, c := range row.Cells {
				if row.Fault == fault && c.Core == core {
					return c.Two
				}
			}
		}
		t.Fatalf("no row %q for %s", fault, core)
		return 0
	}
	for _, fault := range []string{"wall clocks apart by 4 ε to a lease time", "a wall clock is set forwards",
		"a wall clock is set back"} {
		if two(fault, "Flease") == 0 {
			t.Errorf("%s: Flease has one owner throughout: is its clock the wall clock?", fault)
		}
	}
	if two("rates off by 5 ρ to 30 ρ, wall clocks corrected within ε", "PaxosLease") == 0 {
		t.Error("rates beyond ρ: PaxosLease has one owner throughout: do clocks run at their rates?")
	}
}

// One seed is one run, however many goroutines there are.
func TestTheResultDependsOnTheSeedsOnly(t *testing.T) {
	var texts []string
	for _, parallel := range []int{1, 3} {
		o := Options{Params: DefaultParams, Seeds: 2, Start: 7, Parallel: parallel}
		r, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		r.Options.Parallel = 0
		if err := r.JSON(&b); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.String())
		if !json.Valid(b.Bytes()) {
			t.Error("no JSON")
		}
		b.Reset()
		r.Print(&b)
		if n := strings.Count(b.String(), "\n| "); n < 40 {
			t.Errorf("%d rows are printed", n)
		}
	}
	if texts[0] != texts[1] {
		t.Error("two runs differ")
	}
}

// A run ends with its context.
func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, Options{Params: DefaultParams, Seeds: 2}); err == nil {
		t.Error("no error")
	}
}
