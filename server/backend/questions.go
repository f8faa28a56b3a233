package backend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// maxAnswerWait bounds how long a question of another node is worked on.
const maxAnswerWait = time.Minute

// QuestionsConfig is what a Questions is made of. All fields are required.
type QuestionsConfig struct {
	Self ballot.NodeID
	// FirstID differs between runs, so that no answer to a question of an earlier run is taken.
	FirstID   uint64
	Master    func() ballot.NodeID // as far as this node knows; 0: none is known
	Lifecycle *runner.Lifecycle
	Send      runner.Sender
}

// Questions are the questions that this node asks others, and answers for others. It implements runner.Questions. All
// kinds are added before the first question is asked. From then on any number of goroutines may use it.
type Questions struct {
	cfg    QuestionsConfig
	nextID atomic.Uint64
	kinds  map[wire.QuestionKind]*answers

	mu      sync.Mutex
	waiting map[uint64]asked // until an answer comes, or the caller gives up
}

// answers is how this node answers the questions of a kind, and how many of that kind there are.
type answers struct {
	max    int64
	asked  atomic.Int64 // by this node, and not answered yet
	worked atomic.Int64 // worked on for others
	answer func(wait time.Duration, body []byte) ([]byte, error)
}

// asked is a question that waits for its answer.
type asked struct {
	node   ballot.NodeID
	answer chan wire.Answer // has space for one
}

// NewQuestions returns a Questions of no kind yet.
func NewQuestions(c QuestionsConfig) *Questions {
	q := &Questions{cfg: c, kinds: map[wire.QuestionKind]*answers{}, waiting: map[uint64]asked{}}
	q.nextID.Store(c.FirstID)
	return q
}

// notTaken is the error of a question that was not taken, and has changed nothing. Another node may take it, or the
// same one later.
type notTaken struct {
	master ballot.NodeID // ask that node; 0: none is known
	why    string
}

func (e *notTaken) Error() string { return service.ErrNotApplied.Error() + ": " + e.why }

// Unwrap makes it a service.ErrNotApplied.
func (e *notTaken) Unwrap() error { return service.ErrNotApplied }

// notMaster returns the error of a node that is not the master. 0: it does not know which node is.
func notMaster(master ballot.NodeID) error { return &notTaken{master, "no master is known; try again"} }

// put sends a question to another node and waits for the answer, until the time is over, this node ends, or goOn is
// false.
func (q *Questions) put(wait time.Duration, node ballot.NodeID, x wire.Question, goOn func() bool) ([]byte, error) {
	k := q.kinds[x.Kind]
	defer k.asked.Add(-1)
	if k.asked.Add(1) > k.max {
		return nil, fmt.Errorf("%w: %d questions of this kind wait already", service.ErrOverloaded, k.max)
	}
	x.ID, x.Wait = q.nextID.Add(1), wait
	answer := q.open(x.ID, node)
	defer q.close(x.ID)
	if !q.cfg.Send.SendLog(node, wire.EncodeQuestion(&x)) {
		return nil, &notTaken{why: fmt.Sprintf("node %d is not connected to this node; try again", node)}
	}
	timer, tick := time.NewTimer(wait), time.NewTicker(replica.TickEvery)
	defer timer.Stop()
	defer tick.Stop()
	for waits := true; waits; {
		select {
		case a := <-answer:
			return outcome(node, &a)
		case <-timer.C:
			waits = false
		case <-q.cfg.Lifecycle.Ended():
			waits = false
		case <-tick.C:
			waits = goOn()
		}
	}
	return nil, unanswered(node)
}

func (q *Questions) open(id uint64, node ballot.NodeID) <-chan wire.Answer {
	c := make(chan wire.Answer, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[id] = asked{node, c}
	return c
}

func (q *Questions) close(id uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
}

// Answered takes an answer. It drops an answer if nobody waits for it, or if another node was asked.
func (q *Questions) Answered(from ballot.NodeID, a wire.Answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if x, ok := q.waiting[a.ID]; ok && x.node == from {
		x.answer <- a
		delete(q.waiting, a.ID)
	}
}

// Asked answers a question of another node. The work is done in a new goroutine, since the caller must not wait.
func (q *Questions) Asked(from ballot.NodeID, x wire.Question) {
	k := q.kinds[x.Kind]
	switch {
	case k == nil:
		q.tell(from, x.ID, nil, errors.New("its release knows no such question"))
	case k.worked.Add(1) > k.max:
		k.worked.Add(-1)
		q.tell(from, x.ID, nil, &notTaken{why: fmt.Sprintf("node %d has too many questions of this kind to answer; try again",
			q.cfg.Self)})
	default:
		go func() {
			defer k.worked.Add(-1)
			body, err := k.answer(min(max(x.Wait, 0), maxAnswerWait), x.Body)
			q.tell(from, x.ID, body, err)
		}()
	}
}

// tell sends the answer to a question of another node: body, or what err says.
func (q *Questions) tell(to ballot.NodeID, id uint64, body []byte, err error) {
	a := wire.Answer{ID: id, Outcome: wire.Done, Body: body}
	var refused *service.Error
	var not *notTaken
	switch {
	case errors.As(err, &refused):
		a = wire.Answer{ID: id, Outcome: wire.Refused, Code: refused.Code, Text: refused.Text}
	case errors.As(err, &not):
		a = wire.Answer{ID: id, Outcome: wire.NotTaken, Master: not.master, Text: not.why}
	case errors.Is(err, service.ErrUnknown):
		a = wire.Answer{ID: id, Outcome: wire.Unknown}
	case err != nil:
		a = wire.Answer{ID: id, Outcome: wire.Refused, Text: strings.TrimPrefix(err.Error(), service.ErrNotApplied.Error()+": ")}
	}
	q.cfg.Send.SendLog(to, wire.EncodeAnswer(&a))
}

// outcome returns the body of a node's answer, or the error that the answer stands for.
func outcome(node ballot.NodeID, a *wire.Answer) ([]byte, error) {
	switch {
	case a.Outcome == wire.Done:
		return a.Body, nil
	case a.Outcome == wire.NotTaken:
		return nil, &notTaken{a.Master, a.Text}
	case a.Outcome == wire.Refused && a.Code == "":
		return nil, service.NotApplied(fmt.Sprintf("node %d", node), errors.New(a.Text))
	case a.Outcome == wire.Refused && slices.Contains(api.Codes(), a.Code):
		return nil, &service.Error{Code: a.Code, Text: a.Text}
	case a.Outcome == wire.Refused: // for a reason of a newer release
		return nil, &service.Error{Code: api.CodeMemberState, Text: a.Text}
	}
	return nil, unanswered(node)
}

func unanswered(node ballot.NodeID) error {
	return fmt.Errorf("%w: node %d did not answer in time, or does not know", service.ErrUnknown, node)
}
