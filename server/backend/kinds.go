package backend

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// kind is a kind of question. A question is a Q, and its answer an A.
type kind[Q, A any] struct {
	*Questions
	number wire.QuestionKind
	advice string // to a client whose question may have been carried out, or may yet be
	answer func(wait time.Duration, q Q) (A, error)
}

// newKind adds a kind to the questions that this node asks and answers. At most max questions of that kind wait for
// answers, and at most max are worked on for others. answer answers the questions to this node. It returns *notTaken if
// another node is to be asked, and an error that wraps service.ErrUnknown if the outcome is not known. Any other error
// promises that nothing was changed, and will not be.
func newKind[Q, A any](q *Questions, number wire.QuestionKind, max int, advice string,
	answer func(wait time.Duration, q Q) (A, error)) *kind[Q, A] {
	q.kinds[number] = &answers{max: int64(max), answer: func(wait time.Duration, body []byte) ([]byte, error) {
		var x Q
		if err := wire.DecodeBody(body, &x); err != nil {
			return nil, err
		}
		a, err := answer(wait, x)
		return wire.EncodeBody(&a), err
	}}
	return &kind[Q, A]{q, number, advice, answer}
}

// ask puts a question to one node, which may be this one, and waits for the answer. The errors are those of
// kind.answer, also if the answer does not come.
func (k *kind[Q, A]) ask(wait time.Duration, node ballot.NodeID, q Q) (A, error) {
	return k.askWhile(wait, node, q, func() bool { return true })
}

// askMaster puts a question to the master, which may be this node. It goes on until a node has taken the question or
// the time is over. A question that was taken is not put again: it may have been carried out.
func (k *kind[Q, A]) askMaster(timeout time.Duration, q Q) (a A, err error) {
	err = notMaster(0)
	for end, to := time.Now().Add(timeout), ballot.NodeID(0); ; {
		left := time.Until(end)
		if left <= 0 {
			return a, err
		}
		to = cmp.Or(to, k.cfg.Master(), k.cfg.Self)
		var not *notTaken
		if a, err = k.askWhile(left, to, q, k.isMaster(to)); !errors.As(err, &not) {
			return a, err
		}
		to = not.master
		select {
		case <-k.cfg.Lifecycle.Ended():
			return a, fmt.Errorf("%w: this node is stopping; ask another", service.ErrNotApplied)
		case <-time.After(replica.TickEvery):
		}
	}
}

// otherMasterFor is how long the master that was asked may still answer once another one is known. Its answer to a
// transfer comes then.
const otherMasterFor = 2 * time.Second

// isMaster returns a function that reports whether node may still answer as the master.
func (q *Questions) isMaster(node ballot.NodeID) func() bool {
	var other time.Time // when another master was first seen
	return func() bool {
		if m := q.cfg.Master(); m == node || m == 0 {
			other = time.Time{}
		} else if other.IsZero() {
			other = time.Now()
		}
		return other.IsZero() || time.Since(other) < otherMasterFor
	}
}

// askWhile is ask, which gives up as soon as goOn is false.
func (k *kind[Q, A]) askWhile(wait time.Duration, node ballot.NodeID, q Q, goOn func() bool) (a A, err error) {
	if node == k.cfg.Self {
		a, err = k.answer(wait, q)
	} else {
		var body []byte
		if body, err = k.put(wait, node, wire.Question{Kind: k.number, Body: wire.EncodeBody(&q)}, goOn); err == nil {
			if err = wire.DecodeBody(body, &a); err != nil {
				err = fmt.Errorf("%w: the answer of node %d cannot be read: %w", service.ErrUnknown, node, err)
			}
		}
	}
	if errors.Is(err, service.ErrUnknown) {
		err = fmt.Errorf("%w: %s", err, k.advice)
	}
	return a, err
}

// outcomeOf returns the error of a request to this node's own log part that has no reply, or an unknown one.
func outcomeOf(err error, o replica.Outcome) error {
	switch {
	case errors.Is(err, runner.ErrOverloaded), errors.Is(err, runner.ErrClosed):
		return &notTaken{why: err.Error()}
	case err != nil || o == replica.Unknown:
		return fmt.Errorf("%w: the master did not answer in time, or is the master no more", service.ErrUnknown)
	}
	return nil
}
