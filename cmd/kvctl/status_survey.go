package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tenure/api"
	"tenure/client"
)

// surveyTimeout is how long a node has to answer before it is shown as unreachable.
const surveyTimeout = 2 * time.Second

// nodeView is one endpoint's answer about itself, or why there is none.
type nodeView struct {
	endpoint string
	status   client.Status
	err      error
	at       time.Time // of the answer; zero: none yet
	// age is how old the answer is if the node has been asked again since and has not answered. Only status --watch
	// sets it.
	age time.Duration
}

// old reports whether the node may have stopped since its answer: a paused master looks alive in its last one.
func (n nodeView) old() bool { return n.age >= oldFor }

func (n nodeView) answers() bool { return n.err == nil && !n.at.IsZero() }

// survey has the answers of all endpoints at about one moment, in the order of the endpoints.
type survey []nodeView

// takeSurvey asks all endpoints at once. If some were slow to fail, it asks those that have answered again: the master
// may have changed meanwhile.
func takeSurvey(ctx context.Context, c *client.Client) survey {
	s, _ := takeMembers(ctx, c)
	return s
}

// takeMembers is takeSurvey with the list of members, which has no members if no node knows one. Members that are not
// among the endpoints are asked too.
func takeMembers(ctx context.Context, c *client.Client) (survey, client.MemberList) {
	began := time.Now()
	s := surveyOf(c.Endpoints())
	s.ask(ctx, c, func(nodeView) bool { return true })
	var list client.MemberList
	if s.answering() > 0 {
		list = listMembers(ctx, c)
		others := s.others(c.Endpoints(), list)
		others.ask(ctx, c, func(nodeView) bool { return true })
		s = append(s, others...)
		s.markDrained(list)
	}
	if s.answering() < len(s) && time.Since(began) > oldFor {
		s.ask(ctx, c, nodeView.answers)
	}
	return s, list
}

// surveyOf returns a survey of endpoints that have not been asked yet.
func surveyOf(endpoints []string) survey {
	s := make(survey, len(endpoints))
	for i, e := range endpoints {
		s[i].endpoint = e
	}
	return s
}

// listMembers returns the list of members of the first node that answers, or an empty one.
func listMembers(ctx context.Context, c *client.Client) client.MemberList {
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout/2)
	defer cancel()
	list, _ := c.Members().List(ctx)
	return list
}

// others returns the endpoints that s lacks, but for those of members that have answered at another address.
func (s survey) others(endpoints []string, list client.MemberList) survey {
	asked := map[string]bool{}
	for _, n := range s {
		asked[n.endpoint] = true
		for _, m := range list.Members {
			if n.answers() && m.Node == n.status.Node && list.Cluster == n.status.Cluster {
				asked["http://"+m.ClientAddress], asked["https://"+m.ClientAddress] = true, true
			}
		}
	}
	return surveyOf(slices.DeleteFunc(slices.Clone(endpoints), func(e string) bool { return asked[e] }))
}

// known returns s without the endpoints at which nobody listens and which no member has: where no endpoints were named,
// the default ones may have no node.
func (s survey) known(list client.MemberList) survey {
	if len(list.Members) == 0 {
		return s
	}
	return slices.DeleteFunc(s, func(n nodeView) bool {
		_, member := memberAt(list, n.endpoint)
		return errors.Is(n.err, syscall.ECONNREFUSED) && !member
	})
}

// ask asks the endpoints whose views match, all at once.
func (s survey) ask(ctx context.Context, c *client.Client, match func(nodeView) bool) {
	var all sync.WaitGroup
	for i := range s {
		if match(s[i]) {
			all.Go(func() { s[i] = ask(ctx, c, s[i].endpoint) })
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

// master returns the node that says it is master. Of several it is the newest, since the others do not know yet that
// they are no longer master. Old answers do not count.
func (s survey) master() (client.Status, bool) {
	var m client.Status
	for _, n := range s {
		if n.answers() && !n.old() && n.status.Role == client.RoleMaster && n.status.Epoch >= m.Epoch {
			m = n.status
		}
	}
	return m, m.Node != 0
}

// believed returns the node that the others take for master, by the newest epoch, even if it does not answer itself. 0:
// none.
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

// chosen returns the last slot that any node knows to be chosen.
func (s survey) chosen() (slot uint64) {
	for _, n := range s {
		if n.answers() {
			slot = max(slot, n.status.Chosen)
		}
	}
	return slot
}

// lag returns how many chosen slots a node has not applied yet.
func (s survey) lag(n nodeView) uint64 {
	return s.chosen() - min(n.status.Applied, s.chosen())
}

// worstLag returns the largest lag of the nodes that answer.
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

// voters returns how many voters the cluster has, by the newest list of members that any of them goes by.
func (s survey) voters() int {
	voters, newest := 0, uint64(0)
	for _, n := range s {
		if !n.answers() || n.status.Membership.Change < newest {
			continue
		}
		count := 0
		if n.votes() {
			count++
		}
		for _, p := range n.status.Peers {
			if !p.NonVoter {
				count++
			}
		}
		if n.status.Membership.Change > newest {
			voters, newest = 0, n.status.Membership.Change
		}
		voters = max(voters, count)
	}
	return voters
}

// votes reports whether the node is a voter, as it says itself. One that starts may be one.
func (n nodeView) votes() bool { return n.status.Role != api.RoleNonVoter }

// listed reports whether the node is in the newest list of members that any of them goes by. One that is about to join
// is not.
func (s survey) listed(node uint64) bool {
	newest, listed := uint64(0), false
	for _, n := range s {
		change := n.status.Membership.Change
		if !n.answers() || change < newest {
			continue
		}
		isPeer := slices.ContainsFunc(n.status.Peers, func(p api.PeerStatus) bool { return p.Node == node })
		listed = n.status.Node == node || isPeer || listed && change == newest
		newest = change
	}
	return listed
}

// alive counts the voters that answer, and those that were not asked and that one of them is connected to.
func (s survey) alive() int {
	alive := map[uint64]bool{}
	for _, n := range s {
		if n.answers() && !n.old() && n.votes() && s.listed(n.status.Node) {
			alive[n.status.Node] = true
		}
	}
	for p := range s.connectedUnasked() {
		if !p.NonVoter {
			alive[p.Node] = true
		}
	}
	return len(alive)
}

// connectedUnasked yields the peers that are not among the endpoints and that a node which answers is connected to.
func (s survey) connectedUnasked() iter.Seq[api.PeerStatus] {
	asked := map[string]bool{}
	for _, n := range s {
		asked[hostOf(n.endpoint)] = true
	}
	return func(yield func(api.PeerStatus) bool) {
		for _, n := range s {
			if !n.answers() || n.old() {
				continue
			}
			for _, p := range n.status.Peers {
				if p.Connected && !asked[p.ClientAddress] && !yield(p) {
					return
				}
			}
		}
	}
}

// unasked returns the master if the endpoints do not include it, as the nodes that answer know it, and else 0.
func (s survey) unasked() uint64 {
	master := s.believed()
	for p := range s.connectedUnasked() {
		if p.Node == master {
			return master
		}
	}
	return 0
}

// problem returns what keeps the cluster from serving writes, or has some of them served by another cluster, or nil.
func (s survey) problem() error {
	n, of := s.alive(), s.voters()
	_, ok := s.master()
	vouched := !ok && s.vouched() != 0
	switch {
	case s.unreachable() != nil:
		return s.unreachable()
	case s.answering() == 0:
		return errors.New("no node answers")
	case len(s.clusters()) == 0:
		return fmt.Errorf("no cluster yet: %s, and none is a member of one", answers(s.answering()))
	case len(s.clusters()) > 1:
		return fmt.Errorf("the endpoints belong to different clusters, %s: what is written through one is not in the other; "+
			"give those of one cluster", strings.Join(s.clusters(), " and "))
	case vouched:
		return nil
	case 2*n <= of:
		return fmt.Errorf("no majority: %d of %s; stale reads work", n, answers(of))
	case !ok && s.unasked() == 0 && s.drained() == n:
		return fmt.Errorf("no master: all are drained (%d of %s): end a drain with kvctl drain NODE --off; stale reads work",
			n, answers(of))
	case !ok && s.unasked() == 0:
		return fmt.Errorf("no master: %d of %s, and none says that it is master; stale reads work", n, answers(of))
	}
	return nil
}

// drained counts the voters that say that they are drained.
func (s survey) drained() int {
	nodes := map[uint64]bool{}
	for _, n := range s {
		if n.answers() && !n.old() && n.votes() && n.status.Draining {
			nodes[n.status.Node] = true
		}
	}
	return len(nodes)
}

// answers returns a text like "3 nodes answer".
func answers(n int) string {
	if n == 1 {
		return "1 node answers"
	}
	return fmt.Sprintf("%d nodes answer", n)
}

// unreachable returns client.ErrRefused if nothing listens at any endpoint, client.ErrNoSuchHost if no name of one
// exists, and else nil.
func (s survey) unreachable() error {
	refused, missing := 0, 0
	for _, n := range s {
		var dns *net.DNSError
		switch {
		case errors.Is(n.err, syscall.ECONNREFUSED):
			refused++
		case errors.As(n.err, &dns) && dns.IsNotFound:
			missing++
		}
	}
	switch {
	case len(s) == 0 || refused+missing < len(s):
		return nil
	case refused == 0:
		return client.ErrNoSuchHost
	case missing == 0:
		return client.ErrRefused
	}
	return nil
}

// clusters returns the ids of the clusters that the endpoints belong to. More than one is a mistake in --endpoints.
func (s survey) clusters() []string {
	var ids []string
	known := map[string]bool{"": true}
	for _, n := range s {
		if n.answers() && !known[n.status.Cluster] {
			known[n.status.Cluster] = true
			ids = append(ids, n.status.Cluster)
		}
	}
	return ids
}

// whyNot returns in a few words why the node does not answer, without its endpoint.
func (n nodeView) whyNot() string {
	err := n.err
	var e *client.Error
	var dns *net.DNSError
	switch {
	case err == nil:
		return "not asked yet"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.As(err, &e) && e.Err != nil:
		err = e.Err
	}
	return strings.TrimPrefix(err.Error(), n.endpoint+": ")
}
