package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tenure/client"
)

// surveyTimeout is how long a node has to tell its status before it is shown as unreachable.
const surveyTimeout = 2 * time.Second

// nodeView is what one endpoint said of itself, or why it said nothing.
type nodeView struct {
	endpoint string
	status   client.Status
	err      error
	at       time.Time // when the answer came; zero: none yet
	// age is how old the answer is, if it was asked for anew since and nothing came; only status --watch knows that.
	age time.Duration
}

// old tells whether a view may be of a node that has stopped since: a paused master looks alive in its last answer.
func (n nodeView) old() bool { return n.age >= oldFor }

func (n nodeView) answers() bool { return n.err == nil && !n.at.IsZero() }

// survey is what all endpoints said at about one moment, in their order.
type survey []nodeView

// takeSurvey asks all endpoints at once. If some were slow to fail, those that have answered are asked again: who is
// master may have changed meanwhile.
func takeSurvey(ctx context.Context, c *client.Client) survey {
	began := time.Now()
	s := make(survey, len(c.Endpoints()))
	s.ask(ctx, c, func(nodeView) bool { return true })
	if s.answering() < len(s) && time.Since(began) > oldFor {
		s.ask(ctx, c, nodeView.answers)
	}
	return s
}

// ask asks the endpoints whose views match, all at once.
func (s survey) ask(ctx context.Context, c *client.Client, match func(nodeView) bool) {
	var all sync.WaitGroup
	for i, e := range c.Endpoints() {
		if match(s[i]) {
			all.Go(func() { s[i] = ask(ctx, c, e) })
		}
	}
	all.Wait()
}

func ask(ctx context.Context, c *client.Client, endpoint string) nodeView {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	status, err := c.Nodes().StatusOf(ctx, endpoint)
	return nodeView{endpoint: endpoint, status: status, err: err, at: time.Now()}
}

// master is the node that says it is master; the newest, if one does not know yet that it no longer is, and none whose
// word is old.
func (s survey) master() (client.Status, bool) {
	var m client.Status
	for _, n := range s {
		if n.answers() && !n.old() && n.status.Role == client.RoleMaster && n.status.Epoch >= m.Epoch {
			m = n.status
		}
	}
	return m, m.Node != 0
}

// believed is whom the others hold for master, if it does not answer itself: the word of the newest epoch. 0: nobody.
func (s survey) believed() uint64 {
	var node, epoch uint64
	for _, n := range s {
		if n.answers() && n.status.Master != 0 && n.status.Epoch >= epoch {
			node, epoch = n.status.Master, n.status.Epoch
		}
	}
	return node
}

func (s survey) answering() (n int) {
	for _, x := range s {
		if x.answers() {
			n++
		}
	}
	return n
}

// chosen is the last slot that anybody knows to be chosen.
func (s survey) chosen() (slot uint64) {
	for _, n := range s {
		if n.answers() {
			slot = max(slot, n.status.Chosen)
		}
	}
	return slot
}

// lag is how many chosen slots a node has not applied yet.
func (s survey) lag(n nodeView) uint64 {
	return s.chosen() - min(n.status.Applied, s.chosen())
}

// worstLag is the largest lag of the nodes that answer.
func (s survey) worstLag() (lag uint64) {
	for _, n := range s {
		if n.answers() {
			lag = max(lag, s.lag(n))
		}
	}
	return lag
}

func (s survey) revision() (r uint64) {
	for _, n := range s {
		if n.answers() {
			r = max(r, n.status.Revision)
		}
	}
	return r
}

// members is how many nodes the cluster has, as far as anybody says.
func (s survey) members() int {
	most := 0
	for _, n := range s {
		if n.answers() {
			most = max(most, len(n.status.Peers)+1)
		}
	}
	return most
}

// alive is how many nodes answer, with those that were not asked and that one of them is connected to.
func (s survey) alive() int {
	asked, alive := map[string]bool{}, map[uint64]bool{}
	for _, n := range s {
		asked[strings.TrimPrefix(n.endpoint, "http://")] = true
		if n.answers() && !n.old() {
			alive[n.status.Node] = true
		}
	}
	for _, n := range s {
		if !n.answers() || n.old() {
			continue
		}
		for _, p := range n.status.Peers {
			if p.Connected && !asked[p.ClientAddress] {
				alive[p.Node] = true
			}
		}
	}
	return len(alive)
}

// elsewhere is the master if it is a node that was not asked, as those that answer know it; 0: there is none.
func (s survey) elsewhere() uint64 {
	b := s.believed()
	for _, n := range s {
		if !n.answers() || n.old() {
			continue
		}
		for _, p := range n.status.Peers {
			if p.Node == b && p.Connected && !slices.ContainsFunc(s, func(n nodeView) bool { return strings.TrimPrefix(n.endpoint, "http://") == p.ClientAddress }) {
				return b
			}
		}
	}
	return 0
}

// problem is what keeps the cluster from serving writes, or nil.
func (s survey) problem() error {
	n, of := s.alive(), s.members()
	_, ok := s.master()
	switch {
	case s.refused():
		return client.ErrRefused
	case s.answering() == 0:
		return errors.New("no node answers")
	case 2*n <= of:
		return fmt.Errorf("no majority: %d of %s; stale reads work", n, answers(of))
	case !ok && s.elsewhere() == 0:
		return fmt.Errorf("no master: %d of %s, and none says that it is master; stale reads work", n, answers(of))
	}
	return nil
}

// answers is "3 nodes answer".
func answers(n int) string {
	if n == 1 {
		return "1 node answers"
	}
	return fmt.Sprintf("%d nodes answer", n)
}

// refused tells whether nothing listens at any endpoint.
func (s survey) refused() bool {
	return len(s) > 0 && !slices.ContainsFunc(s, func(n nodeView) bool { return !errors.Is(n.err, syscall.ECONNREFUSED) })
}

// clusters are the ids of the clusters that the endpoints belong to: more than one is a mistake in --endpoints.
func (s survey) clusters() []string {
	var ids []string
	seen := map[string]bool{"": true}
	for _, n := range s {
		if n.answers() && !seen[n.status.Cluster] {
			seen[n.status.Cluster] = true
			ids = append(ids, n.status.Cluster)
		}
	}
	return ids
}

// whyNot is why a node does not answer, in few words.
func whyNot(err error) string {
	var e *client.Error
	switch {
	case err == nil:
		return "not asked yet"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	case errors.As(err, &e) && e.Err != nil:
		return e.Err.Error()
	}
	return err.Error()
}
