package client

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/internal/hostname"
)

const (
	// learnEvery is how old the list of members may be before a node that has answered is asked for it again.
	learnEvery = 30 * time.Second
	// learnGap is the shortest time between two questions for the list.
	learnGap = time.Second
	// maxLearned is how many addresses are learned at most: more than a cluster can have.
	maxLearned = 64
	// maxLearnLag is how many slots a member may lag and be as good as any other.
	maxLearnLag = 10_000
)

// learner keeps the endpoints that were not given up to date: it asks a node that has just answered for the list of
// members, on a goroutine of its own, one at a time.
type learner struct {
	s   *sender
	due atomic.Int64 // when to ask next, in nanoseconds since began
	// began is when the Client was made.
	began time.Time

	mu      sync.Mutex
	asking  bool
	closed  bool
	asked   time.Duration // when the list was asked for last
	change  uint64        // of the list that is used
	running sync.WaitGroup
	ctx     context.Context // ends with the Client
	end     context.CancelFunc
}

func newLearner(s *sender) *learner {
	l := &learner{s: s, began: time.Now(), asked: -learnGap}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// answered is called when the node at e has answered. It asks that node for the list if that is due.
func (l *learner) answered(e *endpoint) {
	now := time.Since(l.began)
	if l.s.cfg.NoLearning || int64(now) < l.due.Load() {
		return
	}
	l.begin(e, now, false)
}

// lookAt asks the node at e, at which none has answered lately, for the list. Until that is answered e is not looked at
// again for nearPause.
func (l *learner) lookAt(e *endpoint) { l.begin(e, time.Since(l.began), true) }

// begin has the node at e asked for the list, unless another one is asked now.
func (l *learner) begin(e *endpoint, now time.Duration, look bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asking || l.closed {
		return
	}
	if look {
		l.s.near.pause(e)
	}
	l.asking, l.asked = true, now
	l.due.Store(int64(now + learnEvery))
	l.running.Go(func() {
		if l.ask(e) && look {
			e.pausedUntil.Store(0)
		}
	})
}

// failed is called when an endpoint was of no use: the members may be others now.
func (l *learner) failed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due.Store(min(l.due.Load(), int64(l.asked+learnGap)))
}

// close ends what runs, and waits for that.
func (l *learner) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end()
	l.running.Wait()
}

// ask asks the node at e for the list, and reports whether it is a node of the Client's cluster. A node that does not
// know the request teaches nothing.
func (l *learner) ask(e *endpoint) bool {
	ctx, cancel := context.WithTimeout(l.ctx, l.s.cfg.AttemptTimeout)
	defer cancel()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asking = false
	}()
	r := membersRequest
	r.method = http.MethodGet
	a, _, err := l.s.exchange(ctx, e, r)
	switch {
	case err != nil:
	case a.status == http.StatusOK:
		if list, err := decodeMembers(a); err == nil {
			l.learn(e.String(), &list)
			return l.met(e, list.Cluster, list.Node)
		}
	case kindOfRefusal(a.code()) == ErrDenied:
		return l.askStatus(ctx, e)
	}
	return false
}

// askStatus asks the node at e, which does not tell the list for want of a permission, for its status, which it tells
// everybody. No address is learned of it, but which members are at those in use.
func (l *learner) askStatus(ctx context.Context, e *endpoint) bool {
	r := statusRequest
	r.method = http.MethodGet
	a, _, err := l.s.exchange(ctx, e, r)
	if err != nil || a.status != http.StatusOK {
		return false
	}
	st, err := decodeStatus(a)
	if err != nil || st.Role == api.RoleNone || !l.s.cluster.is(st.Cluster) {
		return false
	}
	members := []Member{{Node: st.Node}}
	for _, p := range st.Peers {
		members = append(members, Member{Node: p.Node, ClientAddress: p.ClientAddress, Connected: p.Connected})
	}
	l.s.endpoints.number(l.places(members, schemeOf(e.String())))
	return l.met(e, st.Cluster, st.Node)
}

// met notes that the node at e has said which it is, and reports whether it is of the Client's cluster.
func (l *learner) met(e *endpoint, cluster string, node uint64) bool {
	if l.s.cluster.known() != cluster {
		return false
	}
	e.member.Store(node)
	e.well.Store(true)
	return true
}

// learn takes the members from a list of the Client's own cluster that came from the URL, unless it has seen a newer
// one.
func (l *learner) learn(from string, list *MemberList) {
	if l.s.cfg.NoLearning || !l.s.cluster.is(list.Cluster) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if list.Change < l.change {
		return
	}
	l.change = list.Change
	l.s.endpoints.learned(l.places(list.Members, schemeOf(from)))
}

// forget forgets what was learned of a cluster that is gone.
func (l *learner) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change = 0
	l.s.endpoints.learned(nil)
}

// schemeOf returns the scheme of an endpoint: the nodes of a cluster speak TLS with their clients, or none does.
func schemeOf(endpoint string) string {
	if strings.HasPrefix(endpoint, "https://") {
		return "https"
	}
	return "http"
}

// places returns where clients reach the members: first those that are connected, caught up and take clients.
func (l *learner) places(members []Member, scheme string) []place {
	later := func(m Member) int {
		if m.Connected && !m.Draining && m.Snapshot == nil && m.Lag <= maxLearnLag {
			return 0
		}
		return 1
	}
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(a, b Member) int { return cmp.Compare(later(a), later(b)) })
	local := slices.ContainsFunc(l.s.endpoints.all(), func(e *endpoint) bool { return e.given && isLoopback(e.Hostname()) })
	var out []place
	for _, m := range members[:min(len(members), maxLearned)] {
		if u := learnable(m.ClientAddress, scheme, local); u != nil {
			out = append(out, place{u, m.Node})
		}
	}
	return out
}

// learnable returns the URL of an address that a node has named, or nil if this process should not connect to it. That
// is so if the address is empty, malformed or unspecified, and if it is on loopback while no given address is (local).
// A node that listens on its own loopback is not at that of this machine.
func learnable(address, scheme string, local bool) *url.URL {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || len(address) > api.MaxMemberAddressBytes || !hostname.ValidAddress(address) {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() || isLoopback(host) && !local {
		return nil
	}
	u, err := parseEndpoint(address, scheme)
	if err != nil {
		return nil
	}
	return u
}

// isLoopback reports whether host is an address of loopback, or one of its names: localhost and the names below it, in
// any case, with or without a dot at the end.
func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
