package main

import (
	"context"
	"errors"
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
}

func (n nodeView) answers() bool { return n.err == nil && !n.at.IsZero() }

// survey is what all endpoints said at about one moment, in their order.
type survey []nodeView

// takeSurvey asks all endpoints at once.
func takeSurvey(ctx context.Context, c *client.Client) survey {
	s := make(survey, len(c.Endpoints()))
	var all sync.WaitGroup
	for i, e := range c.Endpoints() {
		all.Go(func() { s[i] = ask(ctx, c, e) })
	}
	all.Wait()
	return s
}

func ask(ctx context.Context, c *client.Client, endpoint string) nodeView {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	status, err := c.StatusOf(ctx, endpoint)
	return nodeView{endpoint: endpoint, status: status, err: err, at: time.Now()}
}

// master is the node that says it is master; the newest, if one does not know yet that it no longer is.
func (s survey) master() (client.Status, bool) {
	var m client.Status
	for _, n := range s {
		if n.answers() && n.status.Role == client.RoleMaster && n.status.Epoch >= m.Epoch {
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
