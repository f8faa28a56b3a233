package members

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// world is a record with what the master, node 1 unless it says otherwise, knows of the nodes.
type world struct {
	t     *testing.T
	rec   Record
	facts Facts
}

func store(n int) ident.StoreID { return ident.StoreID{byte(n), 1} }

func member(n int) ident.Member {
	return ident.Member{Node: ballot.NodeID(n), Store: store(n), PeerAddr: fmt.Sprintf("h%d:1", n)}
}

// newWorld is a cluster of voters 1 to n, all alive and caught up.
func newWorld(t *testing.T, n int) *world {
	w := &world{t: t, facts: Facts{Self: 1, Era: 100, Slot: 7, SettleWhy: "waits for it to settle"}}
	m := ident.Membership{Number: 1}
	for i := 1; i <= n; i++ {
		m.Members = append(m.Members, member(i))
		w.know(Node{ID: ballot.NodeID(i), Alive: true, CaughtUp: true, Agrees: true, InForce: math.MaxUint64})
	}
	w.rec = First(m)
	return w
}

// know replaces what is known of a node.
func (w *world) know(n Node) { w.facts.Nodes = append([]Node{n}, w.facts.Nodes...) }

func (w *world) well(id ballot.NodeID) {
	w.know(Node{ID: id, Alive: true, CaughtUp: true, Agrees: true, InForce: math.MaxUint64})
}

func (w *world) dead(id ballot.NodeID) { w.know(Node{ID: id, Silent: time.Hour}) }

// took checks a new record as the log would have it, and keeps it.
func (w *world) took(next Record) {
	w.t.Helper()
	back, err := Decode(next.Encode())
	if err != nil {
		w.t.Fatal(err)
	}
	if !back.Equal(next) {
		w.t.Fatalf("%+v came back as %+v", next, back)
	}
	if next.NextNode < w.rec.NextNode {
		w.t.Fatalf("the next id fell from %d to %d", w.rec.NextNode, next.NextNode)
	}
	w.checkRemoved(next)
	was, is := w.rec.Membership.Voters(), next.Membership.Voters()
	diff := 0
	for id := ballot.NodeID(1); id < next.NextNode; id++ {
		if was.Has(id) != is.Has(id) {
			diff++
		}
	}
	changes := int(next.Membership.Number - w.rec.Membership.Number)
	if diff > 1 || changes != diff {
		w.t.Fatalf("voters %v of number %d became %v of number %d in one record", was, w.rec.Membership.Number, is,
			next.Membership.Number)
	}
	if old, now := w.rec.Membership, next.Membership; (fmt.Sprint(old.Members, old.NonVoters) !=
		fmt.Sprint(now.Members, now.NonVoters)) != now.Newer(old) || old.Newer(now) {
		w.t.Fatalf("change %d of %+v follows change %d of %+v", now.Change, now, old.Change, old)
	}
	if diff == 1 {
		if !w.rec.IsSettled() {
			w.t.Fatalf("the voters changed from %v to %v while that was not settled", was, is)
		}
		if next.Membership.Era != w.facts.Era {
			w.t.Fatalf("membership %d has era %d, the next was %d", next.Membership.Number, next.Membership.Era, w.facts.Era)
		}
		w.facts.Era++
	}
	w.rec = next
	w.facts.Settled = false
}

func (w *world) begin(op Operation) error {
	w.t.Helper()
	next, changed, err := w.rec.Begin(op, w.facts)
	if changed {
		w.took(next)
	}
	return err
}

func (w *world) mustBegin(op Operation) {
	w.t.Helper()
	if err := w.begin(op); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) refused(why Reason, op Operation) {
	w.t.Helper()
	var r *Refusal
	before := w.rec
	if err := w.begin(op); !errors.As(err, &r) || r.Reason != why || r.Text == "" {
		w.t.Fatalf("%+v: got %v, want reason %d", op, err, why)
	}
	if !w.rec.Equal(before) {
		w.t.Fatal("a refused operation changed the record")
	}
}

// steps goes on for as long as it can, settling each membership at once, and returns what it did.
func (w *world) steps() (did []string) {
	w.t.Helper()
	for range 20 {
		s := Next(w.rec, w.facts)
		switch {
		case s.Change:
			w.took(s.Record)
			did = append(did, s.Why)
		case !w.rec.IsSettled():
			w.facts.Settled = true
		default:
			return append(did, "| "+s.Why)
		}
	}
	w.t.Fatalf("it never ends: %q", did)
	return nil
}

func (w *world) want(voters, nonVoters string) {
	w.t.Helper()
	if got, non := ids(w.rec.Membership.Members), ids(w.rec.Membership.NonVoters); got != voters || non != nonVoters {
		w.t.Fatalf("voters %s, non-voters %s; want %s and %s", got, non, voters, nonVoters)
	}
}

func ids(ms []ident.Member) string {
	var out []string
	for _, m := range ms {
		out = append(out, fmt.Sprint(m.Node))
	}
	return strings.Join(out, ",")
}

func (w *world) state(id string, want State) {
	w.t.Helper()
	if o, ok := w.rec.Operation(id); !ok || o.State != want {
		w.t.Fatalf("operation %q: %+v, want it %v", id, o, want)
	}
}

// story is what is done to a cluster of three, and what must come of it, in order.
func TestOrders(t *testing.T) {
	comer := ident.Member{Store: store(4)}
	for _, c := range []struct {
		name      string
		voters    int
		before    func(w *world)
		op        Operation
		at        string // what it waits for before the comer is caught up
		did       []string
		is, non   string
		runsStill bool
	}{
		{name: "add", voters: 3, op: Operation{Kind: Add, Member: comer},
			at:  "waits for node 4, which is not heard",
			did: []string{"node 4 becomes a voter", "node 4 votes", "membership 2 is settled: whatever the voters before it have granted has ended", "| "},
			is:  "1,2,3,4"},
		{name: "add a non-voter", voters: 3, op: Operation{Kind: Add, Member: comer, NonVoter: true},
			did: []string{"| "}, is: "1,2,3", non: "4"},
		{name: "add a spare", voters: 3, op: Operation{Kind: Add, Member: comer, Spare: true, ReplaceAfter: time.Minute},
			did: []string{"| "}, is: "1,2,3", non: "4"},
		{name: "remove", voters: 3, op: Operation{Kind: Remove, Node: 2},
			did: []string{"node 2 is removed", "membership 2 is settled: whatever the voters before it have granted has ended", "| "},
			is:  "1,3"},
		{name: "remove the master", voters: 3, op: Operation{Kind: Remove, Node: 1},
			did: []string{"| node 1 hands mastership over before it is removed"}, is: "1,2,3", runsStill: true},
		{name: "replace a live one", voters: 3, op: Operation{Kind: Replace, Node: 3, Member: comer},
			at: "waits for node 4, which is not heard",
			did: []string{"node 4 becomes a voter", "membership 2 is settled: whatever the voters before it have granted has ended",
				"node 3 is removed", "membership 3 is settled: whatever the voters before it have granted has ended", "| "},
			is: "1,2,4"},
		{name: "replace a dead one", voters: 3, before: func(w *world) { w.dead(3) },
			op: Operation{Kind: Replace, Node: 3, Member: comer, Unheard: true},
			at: "waits for node 4, which is not heard",
			did: []string{"node 3 is removed", "membership 2 is settled: whatever the voters before it have granted has ended",
				"node 4 becomes a voter", "node 4 votes", "membership 3 is settled: whatever the voters before it have granted has ended", "| "},
			is: "1,2,4"},
		{name: "replace a live one of seven", voters: 7, op: Operation{Kind: Replace, Node: 3,
			Member: ident.Member{Store: store(8)}}, at: "waits for node 8, which is not heard",
			did: []string{"node 3 is removed", "membership 2 is settled: whatever the voters before it have granted has ended",
				"node 8 becomes a voter", "node 8 votes", "membership 3 is settled: whatever the voters before it have granted has ended", "| "},
			is: "1,2,4,5,6,7,8"},
		{name: "replace the master", voters: 3, op: Operation{Kind: Replace, Node: 1, Member: comer},
			at: "waits for node 4, which is not heard",
			did: []string{"node 4 becomes a voter", "membership 2 is settled: whatever the voters before it have granted has ended",
				"| node 1 hands mastership over before it is removed"}, is: "1,2,3,4", runsStill: true},
		{name: "promote", voters: 2, before: func(w *world) {
			w.mustBegin(Operation{ID: "n", Kind: Add, NonVoter: true, Member: ident.Member{Store: store(3)}})
		}, op: Operation{Kind: Promote, Node: 3}, at: "waits for node 3, which is not heard",
			did: []string{"node 3 becomes a voter", "node 3 votes", "membership 2 is settled: whatever the voters before it have granted has ended", "| "},
			is:  "1,2,3"},
		{name: "update", voters: 2, op: Operation{Kind: Update, Node: 2, Member: ident.Member{PeerAddr: "new:1"}},
			did: []string{"| "}, is: "1,2"},
		{name: "replace a non-voter", voters: 2, before: func(w *world) {
			w.mustBegin(Operation{ID: "n", Kind: Add, NonVoter: true, Member: ident.Member{Store: store(3)}})
		}, op: Operation{Kind: Replace, Node: 3, Member: comer}, at: "waits for node 4, which is not heard",
			did: []string{"node 3 is removed", "| "}, is: "1,2", non: "4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.voters)
			if c.before != nil {
				c.before(w)
			}
			c.op.ID = "op"
			w.mustBegin(c.op)
			if c.at != "" {
				was := w.rec
				if s := Next(w.rec, w.facts); s.Change || !strings.HasPrefix(s.Why, c.at) {
					t.Fatalf("before the node is there: %+v", s)
				}
				id := w.rec.NextNode - 1
				w.know(Node{ID: id, Alive: true})
				if s := Next(w.rec, w.facts); s.Change || s.Why != fmt.Sprintf("waits for node %d to catch up", id) {
					t.Fatalf("before the node is caught up: %+v", s)
				}
				if !was.Equal(w.rec) {
					t.Fatal("it did not wait")
				}
				w.well(id)
			}
			if got := w.steps(); fmt.Sprint(got) != fmt.Sprint(c.did) {
				t.Fatalf("steps %q\nwant  %q", got, c.did)
			}
			w.want(c.is, c.non)
			state := Done
			if c.runsStill {
				state = Running
			}
			w.state("op", state)
		})
	}
}

// A node that has just started becomes a voter when it answers about the master lease.
func TestASilentNodeBecomesNoVoter(t *testing.T) {
	for _, dead := range []ballot.NodeID{0, 3} {
		w := newWorld(t, 3)
		op := Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(4)}}
		if dead != 0 {
			w.dead(dead)
			op.Kind, op.Node = Replace, dead
		}
		w.mustBegin(op)
		n := well(4)
		n.Quarantine = 2500 * time.Millisecond
		w.know(n)
		if s := Next(w.rec, w.facts); s.Change || !strings.HasPrefix(s.Why, "waits 2.5s for node 4") {
			t.Errorf("%+v", s)
		}
	}
}

// An operation that makes a voter is done when that votes; and not never, if it does not.
func TestAnOperationWaitsForItsVoter(t *testing.T) {
	begin := func() *world {
		w := newWorld(t, 2)
		w.mustBegin(Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(3)}})
		w.well(3)
		n := well(3)
		n.InForce = 1
		w.know(n)
		w.took(Next(w.rec, w.facts).Record)
		w.state("op", Running)
		return w
	}
	w := begin()
	w.facts.Unchanged = electWithin - 1
	if s := Next(w.rec, w.facts); s.Change || !strings.HasPrefix(s.Why, "waits for node 3, which is a voter now") {
		t.Errorf("%+v", s)
	}
	w.cancel("op", TooLate)
	w.well(3)
	w.steps()
	w.state("op", Done)
	for _, end := range []func(w *world){
		func(w *world) { w.facts.Unchanged = electWithin },
		func(w *world) { w.know(Node{ID: 3, InForce: 1}) },
	} {
		w := begin()
		end(w)
		w.took(Next(w.rec, w.facts).Record)
		w.state("op", Done)
		if o, _ := w.rec.Operation("op"); !strings.Contains(o.Problem, "has not acknowledged") {
			t.Errorf("%+v", o)
		}
	}
}

// The next master goes on where the one that handed over stopped.
func TestNextMasterRemovesTheOldOne(t *testing.T) {
	w := newWorld(t, 3)
	w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 1})
	if s := Next(w.rec, w.facts); !s.HandOver || s.Change {
		t.Fatalf("%+v", s)
	}
	w.facts.Self = 2
	w.steps()
	w.want("2,3", "")
	w.state("op", Done)
}

func TestIdsAreNeverReused(t *testing.T) {
	w := newWorld(t, 3)
	for i := range 5 {
		w.mustBegin(Operation{ID: fmt.Sprint("a", i), Kind: Add, Member: ident.Member{Store: store(10 + i)}})
		id := ballot.NodeID(4 + i)
		if o, _ := w.rec.Running(); o.Member.Node != id {
			t.Fatalf("the new member got id %d, want %d", o.Member.Node, id)
		}
		w.well(id)
		w.steps()
		w.mustBegin(Operation{ID: fmt.Sprint("r", i), Kind: Remove, Node: id})
		w.steps()
		w.want("1,2,3", "")
	}
	w.refused(Unknown, Operation{ID: "again", Kind: Remove, Node: 5})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		voters int
		before func(w *world)
		op     Operation
		why    Reason
	}{
		{"no id", 3, nil, Operation{Kind: Remove, Node: 2}, Invalid},
		{"no such kind", 3, nil, Operation{ID: "op", Kind: 9, Node: 2}, Invalid},
		{"long name", 3, nil, Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(9),
			Name: strings.Repeat("x", ident.MaxNameBytes+1)}}, Invalid},
		{"add without a store", 3, nil, Operation{ID: "op", Kind: Add}, Invalid},
		{"unknown", 3, nil, Operation{ID: "op", Kind: Remove, Node: 9}, Unknown},
		{"unknown name", 3, nil, Operation{ID: "op", Kind: Replace, Name: "node-9"}, Unknown},
		{"no such node", 3, nil, Operation{ID: "op", Kind: Promote}, Unknown},
		{"last voter", 1, nil, Operation{ID: "op", Kind: Remove, Node: 1}, LastVoter},
		{"no majority left", 3, func(w *world) { w.dead(3) }, Operation{ID: "op", Kind: Remove, Node: 2}, NoMajority},
		{"forced with a wrong number", 3, func(w *world) { w.dead(3) },
			Operation{ID: "op", Kind: Remove, Node: 2, Alive: 2}, NoMajority},
		{"replaced while heard", 3, nil, Operation{ID: "op", Kind: Replace, Name: "node-3", Unheard: true,
			Member: ident.Member{Store: store(9)}}, Heard},
		{"a voter promoted", 3, nil, Operation{ID: "op", Kind: Promote, Node: 2}, AlreadyIs},
		{"an eighth voter", 7, nil, Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(9)}}, TooMany},
		{"name taken", 3, nil, Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(9), Name: "node-2"}},
			NameTaken},
		{"address taken", 3, nil, Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(9), PeerAddr: "h2:1"}},
			NameTaken},
		{"update takes a name", 3, nil, Operation{ID: "op", Kind: Update, Node: 1, Member: ident.Member{Name: "node-2"}},
			NameTaken},
		{"update of nothing", 3, nil, Operation{ID: "op", Kind: Update, Node: 1}, Invalid},
		{"replace by a voter", 3, nil, Operation{ID: "op", Kind: Replace, Node: 1, Member: ident.Member{Node: 2}}, Invalid},
		{"another under way", 3, func(w *world) {
			w.mustBegin(Operation{ID: "first", Kind: Add, Member: ident.Member{Store: store(8)}})
		}, Operation{ID: "op", Kind: Remove, Node: 2}, Busy},
		{"an old version", 3, func(w *world) {
			w.know(Node{ID: 2, Alive: true, CaughtUp: true, Agrees: true, InForce: math.MaxUint64, Old: true})
		},
			Operation{ID: "op", Kind: Remove, Node: 3}, Outdated},
		{"id of another", 3, func(w *world) {
			w.mustBegin(Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(8)}, NonVoter: true})
		}, Operation{ID: "op", Kind: Remove, Node: 2}, IDReused},
		{"no more non-voters", 3, func(w *world) {
			for i := range ident.MaxNonVoters {
				w.mustBegin(Operation{ID: fmt.Sprint(i), Kind: Add, Member: ident.Member{Store: store(20 + i)}, NonVoter: true})
			}
		}, Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(9)}}, TooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.voters)
			if c.before != nil {
				c.before(w)
			}
			w.refused(c.why, c.op)
			if _, err := w.rec.Explain(c.op, w.facts); err == nil && c.why != Invalid {
				t.Fatal("the dry run does not say so")
			}
		})
	}
}

func TestBusyNamesTheOtherAndTellsWhatToDo(t *testing.T) {
	w := newWorld(t, 3)
	w.mustBegin(Operation{ID: "first", Kind: Add, Member: ident.Member{Store: store(8)}})
	err := w.begin(Operation{ID: "second", Kind: Remove, Node: 2})
	if err == nil || !strings.Contains(err.Error(), "first (add node 4)") ||
		!strings.Contains(err.Error(), "kvctl member cancel first") {
		t.Fatal(err)
	}
}

// Whoever repeats an operation gets the outcome of the first, while it runs and after its end.
func TestRepeatedOperationBeginsOnce(t *testing.T) {
	w := newWorld(t, 3)
	op := Operation{ID: "op", Kind: Add, Member: ident.Member{Store: store(8)}}
	for range 2 {
		w.mustBegin(op)
		w.want("1,2,3", "4")
	}
	w.well(4)
	w.steps()
	w.mustBegin(op)
	w.want("1,2,3,4", "")
	op.ID = "the node forgot its id"
	w.mustBegin(op)
	w.want("1,2,3,4", "")
	w.mustBegin(Operation{ID: "gone", Kind: Remove, Node: 4})
	w.steps()
	w.mustBegin(Operation{ID: "gone", Kind: Remove, Node: 4})
	w.want("1,2,3", "")
}

func TestOnlyTheLastFinishedAreRemembered(t *testing.T) {
	w := newWorld(t, 3)
	for i := range 3 * MaxOperations {
		w.mustBegin(Operation{ID: fmt.Sprint(i), Kind: Update, Node: 2, Member: ident.Member{ClientAddr: fmt.Sprint(i)}})
	}
	if n := len(w.rec.Operations); n != MaxOperations {
		t.Fatalf("%d operations are remembered", n)
	}
	w.mustBegin(Operation{ID: "add", Kind: Add, Member: ident.Member{Store: store(8)}})
	if n := len(w.rec.Operations); n != MaxOperations+1 {
		t.Fatalf("%d operations with the one that runs", n)
	}
}

func TestForcedRemovalNamesTheNumberAlive(t *testing.T) {
	w := newWorld(t, 3)
	w.dead(3)
	w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 2, Alive: 1})
	w.steps()
	w.want("1,3", "")
}

// The majority may be lost between the beginning of the operation and the removal.
func TestRemovalWaitsForAMajorityOfWhatIsLeft(t *testing.T) {
	w := newWorld(t, 3)
	w.mustBegin(Operation{ID: "op", Kind: Remove, Node: 2})
	w.dead(3)
	if s := Next(w.rec, w.facts); s.Change || !strings.Contains(s.Why, "majority of {1,3}") {
		t.Fatalf("%+v", s)
	}
	w.well(3)
	w.steps()
	w.want("1,3", "")
}

func TestVotersChangeOnlyWhenSettled(t *testing.T) {
	w := newWorld(t, 3)
	w.mustBegin(Operation{ID: "one", Kind: Remove, Node: 3})
	w.took(Next(w.rec, w.facts).Record)
	if w.rec.IsSettled() || ids(w.rec.Before) != "1,2,3" {
		t.Fatalf("%+v", w.rec)
	}
	w.mustBegin(Operation{ID: "two", Kind: Add, Member: ident.Member{Store: store(8)}}) // a non-voter waits for nothing
	w.well(4)
	if s := Next(w.rec, w.facts); s.Change || s.Why != "waits for it to settle" {
		t.Fatalf("%+v", s)
	}
	w.facts.Settled = true
	s := Next(w.rec, w.facts)
	w.took(s.Record)
	if !w.rec.IsSettled() || len(w.rec.Before) != 0 {
		t.Fatalf("%+v", w.rec)
	}
	w.want("1,2", "4")
}

func TestBlocks(t *testing.T) {
	voters := func(n int) (ms []ident.Member) {
		for i := 1; i <= n; i++ {
			ms = append(ms, member(i))
		}
		return ms
	}
	for _, c := range []struct {
		of, acked int
		want      bool
	}{
		{1, 0, false}, {1, 1, true}, {2, 0, false}, {2, 1, true}, {3, 1, false}, {3, 2, true}, {4, 1, false}, {4, 2, true},
		{5, 2, false}, {5, 3, true}, {7, 3, false}, {7, 4, true},
	} {
		if got := Blocks(voters(c.of), func(id ballot.NodeID) bool { return int(id) <= c.acked }); got != c.want {
			t.Errorf("%d of %d: %v", c.acked, c.of, got)
		}
	}
}

// Two members exchange their addresses in three steps, as the refusal of the first attempt says.
func TestTwoMembersExchangeAddresses(t *testing.T) {
	w := newWorld(t, 3)
	update := func(id string, node ballot.NodeID, addr string) Operation {
		return Operation{ID: id, Kind: Update, Node: node, Member: ident.Member{PeerAddr: addr}}
	}
	a, b := w.rec.Membership.Members[1].PeerAddr, w.rec.Membership.Members[2].PeerAddr
	var r *Refusal
	if err := w.begin(update("1", 2, b)); !errors.As(err, &r) || strings.Contains(r.Text, "replace") ||
		!strings.Contains(r.Text, "first give node 3 one that nobody has, then update node 2") {
		t.Fatal(err)
	}
	w.mustBegin(update("2", 3, "free:1"))
	w.mustBegin(update("3", 2, b))
	w.mustBegin(update("4", 3, a))
	if m := w.rec.Membership.Members; m[1].PeerAddr != b || m[2].PeerAddr != a {
		t.Errorf("%+v", m)
	}
	rename := Operation{ID: "5", Kind: Update, Node: 1, Member: ident.Member{Name: "node-2"}}
	if err := w.begin(rename); !errors.As(err, &r) || strings.Contains(r.Text, "--replace") ||
		!strings.HasSuffix(r.Text, "or rename that node first: kvctl member update node-2 --name NAME") {
		t.Error(err)
	}
}
