package backend

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// sender sends the bodies of log connections by a function.
type sender func(to ballot.NodeID, body []byte) bool

func (sender) SendLease(ballot.NodeID, []byte) bool         { return false }
func (sender) SendNamed(ballot.NodeID, []byte) bool         { return false }
func (s sender) SendLog(to ballot.NodeID, body []byte) bool { return s(to, body) }
func noMaster() ballot.NodeID                               { return 0 }
func echo(_ time.Duration, d wire.Drain) (wire.DrainTold, error) {
	return wire.DrainTold{State: wire.DrainOn}, nil
}

// questionsOf returns questions of node 1, of which none is put anywhere but to send.
func questionsOf(send sender) *Questions {
	return NewQuestions(QuestionsConfig{Self: 1, FirstID: 100, Master: noMaster, Send: send,
		Lifecycle: runner.NewLifecycle(func() {})})
}

// connected returns the Questions of n nodes, whose ids begin at 1. No message reaches those that are down.
func connected(t *testing.T, n int) (map[ballot.NodeID]*Questions, map[ballot.NodeID]bool) {
	nodes, down := map[ballot.NodeID]*Questions{}, map[ballot.NodeID]bool{}
	for id := range ballot.NodeID(n + 1) {
		if id == 0 {
			continue
		}
		q := questionsOf(func(to ballot.NodeID, body []byte) bool {
			if down[to] {
				return false
			}
			b, err := wire.DecodeLog(body, id, to)
			switch {
			case err != nil:
				t.Errorf("node %d sends %x: %v", id, body, err)
			case b.Question != nil:
				nodes[to].Asked(id, *b.Question)
			default:
				nodes[to].Answered(id, *b.Answer)
			}
			return true
		})
		q.cfg.Self = id
		nodes[id] = q
	}
	return nodes, down
}

// TestAQuestionWaitsForItsAnswer: for that with its id, of the node that was asked, and no longer than it may.
func TestAQuestionWaitsForItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, connects := make(chan wire.Question, 9), true
		q := questionsOf(func(_ ballot.NodeID, body []byte) bool {
			b, err := wire.DecodeLog(body, 1, 2)
			if err != nil {
				t.Error(err)
			}
			sent <- *b.Question
			return connects
		})
		k := newKind(q, wire.AskDrain, 2, "look", echo)
		type result struct {
			told wire.DrainTold
			err  error
		}
		results := make(chan result, 9)
		ask := func() wire.Question {
			go func() {
				told, err := k.ask(time.Second, 2, wire.Drain{Force: true})
				results <- result{told, err}
			}()
			synctest.Wait()
			return <-sent
		}
		want := func(state wire.DrainState, err error) {
			t.Helper()
			if r := <-results; r.told.State != state || !errors.Is(r.err, err) {
				t.Errorf("%+v, want %v and %v", r, state, err)
			}
		}
		answer := func(from ballot.NodeID, id uint64, s wire.DrainState) {
			q.Answered(from, wire.Answer{ID: id, Outcome: wire.Done, Body: wire.EncodeBody(&wire.DrainTold{State: s})})
		}

		first, second := ask(), ask()
		if first.ID <= 100 || first.ID == second.ID || first.Kind != wire.AskDrain || first.Wait != time.Second {
			t.Errorf("%+v and %+v", first, second)
		}
		if _, err := k.ask(time.Second, 2, wire.Drain{}); !errors.Is(err, service.ErrOverloaded) || len(sent) != 0 {
			t.Errorf("a third: %v, %d sent", err, len(sent))
		}
		answer(3, second.ID, wire.DrainBegun)
		answer(2, second.ID+1, wire.DrainBegun)
		answer(2, second.ID, wire.DrainOn)
		want(wire.DrainOn, nil)
		answer(2, second.ID, wire.DrainBegun)
		want(0, service.ErrUnknown) // the first, after a second
		answer(2, first.ID, wire.DrainBegun)

		x := ask()
		q.Answered(2, wire.Answer{ID: x.ID, Outcome: wire.Done, Body: []byte{0xc1}})
		want(0, service.ErrUnknown)
		x = ask()
		q.Answered(2, wire.Answer{ID: x.ID, Outcome: 200})
		want(0, service.ErrUnknown)
		connects = false
		ask()
		want(0, service.ErrNotApplied)
		if len(q.waiting) != 0 || q.kinds[wire.AskDrain].asked.Load() != 0 {
			t.Errorf("%d still wait", len(q.waiting))
		}
	})
}

// TestAQuestionEndsWithTheNode: nobody waits for an answer once the node has ended.
func TestAQuestionEndsWithTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := questionsOf(func(ballot.NodeID, []byte) bool { return true })
		k := newKind(q, wire.AskDrain, 2, "look", echo)
		q.cfg.Lifecycle.End()
		began := time.Now()
		if _, err := k.ask(time.Hour, 2, wire.Drain{}); !errors.Is(err, service.ErrUnknown) {
			t.Error(err)
		}
		if _, err := k.askMaster(time.Hour, wire.Drain{}); err != nil {
			t.Error(err) // of this node itself
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("after %v", d)
		}
	})
}

// TestAnErrorIsTheSameFromAnotherNode: whoever is told it need not know which node has answered.
func TestAnErrorIsTheSameFromAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, _ := connected(t, 2)
		var err error
		answer := func(time.Duration, wire.Transfer) (struct{}, error) { return struct{}{}, err }
		newKind(nodes[2], wire.AskTransfer, 1, "", answer)
		k := newKind(nodes[1], wire.AskTransfer, 1, "look who is master", answer)
		for _, err = range []error{nil, &service.Error{Code: api.CodeQuorumLoss, Text: "too few"}, &notTaken{7, "not me"},
			fmt.Errorf("%w: no answer", service.ErrUnknown), errBusy, errors.New("oops")} {
			_, got := k.ask(time.Second, 2, wire.Transfer{To: 3})
			var refused, wanted *service.Error
			var not *notTaken
			switch {
			case err == nil:
				if got != nil {
					t.Error(got)
				}
			case errors.As(err, &wanted):
				if !errors.As(got, &refused) || *refused != *wanted {
					t.Errorf("%v, want %v", got, err)
				}
			case errors.As(err, &not):
				if !errors.As(got, &not) || *not != (notTaken{7, "not me"}) {
					t.Errorf("%v, want %v", got, err)
				}
			case errors.Is(err, service.ErrUnknown):
				if !errors.Is(got, service.ErrUnknown) || !strings.HasSuffix(got.Error(), ": look who is master") {
					t.Errorf("%v, want %v", got, err)
				}
			default:
				said := "not applied: node 2: " + strings.TrimPrefix(err.Error(), "not applied: ")
				if !errors.Is(got, service.ErrNotApplied) || got.Error() != said {
					t.Errorf("%v, want %v", got, said)
				}
			}
		}
	})
}

// TestAQuestionThatCannotBeAnswered: bytes that are no question are refused, and so is a question of another release.
func TestAQuestionThatCannotBeAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := make(chan []byte, 9)
		q := questionsOf(func(_ ballot.NodeID, body []byte) bool { sent <- body; return true })
		newKind(q, wire.AskDrain, 2, "look", func(time.Duration, wire.Drain) (none struct{}, err error) {
			t.Error("it was drained")
			return none, nil
		})
		for _, x := range []wire.Question{{ID: 4, Kind: 200}, {ID: 4, Kind: wire.AskDrain, Body: []byte{0xc1}}} {
			q.Asked(2, x)
			b, err := wire.DecodeLog(<-sent, 1, 2)
			if err != nil || b.Answer.ID != 4 || b.Answer.Outcome != wire.Refused || b.Answer.Text == "" {
				t.Errorf("%+v: %+v, %v", x, b.Answer, err)
			}
		}
		var refused *service.Error
		_, err := outcome(2, &wire.Answer{Outcome: wire.Refused, Code: "of another release", Text: "no"})
		if !errors.As(err, &refused) || *refused != (service.Error{Code: api.CodeMemberState, Text: "no"}) {
			t.Errorf("a refusal with a code of another release: %v", err)
		}
	})
}

// TestQuestionsOfOneKindKeepNoOtherOut: what is worked on for others is bounded for each kind by itself.
func TestQuestionsOfOneKindKeepNoOtherOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, _ := connected(t, 2)
		begin := make(chan struct{})
		waits := func(time.Duration, struct{}) (none struct{}, err error) { <-begin; return none, nil }
		newKind(nodes[2], wire.AskRaise, 2, "", waits)
		newKind(nodes[2], wire.AskDrain, 2, "", echo)
		raises, drains := newKind(nodes[1], wire.AskRaise, 9, "", waits), newKind(nodes[1], wire.AskDrain, 9, "", echo)
		results := make(chan error, 9)
		for range 3 {
			go func() {
				_, err := raises.ask(time.Minute, 2, struct{}{})
				results <- err
			}()
			synctest.Wait()
		}
		var not *notTaken
		if err := <-results; !errors.As(err, &not) {
			t.Errorf("the third: %v", err)
		}
		if told, err := drains.ask(time.Second, 2, wire.Drain{}); err != nil || told.State != wire.DrainOn {
			t.Errorf("another kind: %v, %v", told, err)
		}
		close(begin)
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if _, err := raises.ask(time.Second, 2, struct{}{}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// TestTheMasterIsFound: by who is known to be it, and by what the others say, however late.
func TestTheMasterIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, down := connected(t, 3)
		var master, known atomic.Uint64 // node ids
		set := func(m, k uint64) { master.Store(m); known.Store(k) }
		kinds := map[ballot.NodeID]*kind[wire.Transfer, wire.Transfer]{}
		for id, q := range nodes {
			kinds[id] = newKind(q, wire.AskTransfer, 9, "", func(time.Duration, wire.Transfer) (a wire.Transfer, err error) {
				if uint64(id) != master.Load() {
					return a, notMaster(ballot.NodeID(known.Load()))
				}
				return wire.Transfer{To: id}, nil
			})
		}
		nodes[1].cfg.Master = func() ballot.NodeID { return 2 }
		ask := func(want ballot.NodeID) {
			t.Helper()
			if a, err := kinds[1].askMaster(time.Second, wire.Transfer{}); err != nil || a.To != want {
				t.Errorf("%+v, %v, want the answer of node %d", a, err, want)
			}
		}
		set(2, 0)
		ask(2)
		set(3, 3)
		ask(3)
		set(1, 1)
		ask(1)
		set(0, 0)
		go func() { time.Sleep(time.Second / 2); set(2, 0) }()
		ask(2)
		set(0, 0)
		began := time.Now()
		if _, err := kinds[1].askMaster(time.Second, wire.Transfer{}); !errors.Is(err, service.ErrNotApplied) ||
			!strings.Contains(err.Error(), "no master is known") || time.Since(began) < time.Second {
			t.Errorf("without a master, after %v: %v", time.Since(began), err)
		}
		down[2] = true
		if _, err := kinds[1].askMaster(time.Second, wire.Transfer{}); !errors.Is(err, service.ErrNotApplied) ||
			!strings.Contains(err.Error(), "node 2 is not connected") {
			t.Errorf("without a connection: %v", err)
		}
	})
}

// TestAMasterThatIsNoMoreIsNotWaitedFor: after a while for the answer to be on its way.
func TestAMasterThatIsNoMoreIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := questionsOf(func(ballot.NodeID, []byte) bool { return true })
		began := time.Now()
		q.cfg.Master = func() ballot.NodeID {
			switch d := time.Since(began); {
			case d < 5*time.Second:
				return 2
			case d < 6*time.Second:
				return 0 // of which nothing follows
			}
			return 3
		}
		k := newKind(q, wire.AskDrain, 2, "", echo)
		_, err := k.askMaster(time.Minute, wire.Drain{})
		if d := time.Since(began).Round(time.Second); !errors.Is(err, service.ErrUnknown) || d != 6*time.Second+otherMasterFor {
			t.Errorf("after %v: %v", d, err)
		}
		if _, err := k.ask(time.Minute, 2, wire.Drain{}); !errors.Is(err, service.ErrUnknown) || time.Since(began) < time.Minute {
			t.Errorf("a question to any node, after %v: %v", time.Since(began), err)
		}
	})
}
