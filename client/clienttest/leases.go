package clienttest

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// firstToken is below the first one: tokens have an era in their upper half.
const firstToken = 1 << 32

// leases are the named ones, by name. Cluster.mu guards it.
type leases struct {
	held   map[string]*lease
	token  uint64 // the largest of all
	serial uint64 // of the last grant
	grow   bool
	tell   bool
	queue  map[string][][16]byte // acquisitions that wait, by name
	asked  map[string]int        // requests by command
	quiet  time.Time             // before it nothing can be acquired
	news   chan struct{}         // closed and replaced when a lease may have become free
}

type lease struct {
	owner       string
	acquisition [16]byte
	token       uint64
	ends        time.Time
}

func newLeases() leases {
	return leases{held: map[string]*lease{}, token: firstToken, queue: map[string][][16]byte{},
		asked: map[string]int{}, news: make(chan struct{})}
}

// wake has those look again who wait.
func (l *leases) wake() {
	close(l.news)
	l.news = make(chan struct{})
}

// Lease tells who holds a lease, and under which token; "" and 0 if nobody does.
func (c *Cluster) Lease(name string) (owner string, token uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.leases.live(name); x != nil {
		return x.owner, x.token
	}
	return "", 0
}

// Leases are the names of all leases that are held.
func (c *Cluster) Leases() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.leases.held, func(name string, _ *lease) bool { return c.leases.live(name) == nil })
	return slices.Sorted(maps.Keys(c.leases.held))
}

// LeaseRequests is how many requests about leases there were of a command: acquire, renew, release, or renew-all for a
// batch.
func (c *Cluster) LeaseRequests(command string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leases.asked[command]
}

// EndLease ends a lease without HTTP, as if somebody had released it.
func (c *Cluster) EndLease(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases.held, name)
	c.leases.wake()
}

// GrowTokens has every renewal give a larger token.
func (c *Cluster) GrowTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases.grow = true
}

// TellWaits has grants tell for how long their requests had to wait, as real nodes do.
func (c *Cluster) TellWaits() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases.tell = true
}

// SilenceLeases has the nodes refuse acquisitions for d, as after a restart of all of them.
func (c *Cluster) SilenceLeases(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases.quiet = time.Now().Add(d)
}

func (l *leases) live(name string) *lease {
	if x := l.held[name]; x != nil && time.Now().Before(x.ends) {
		return x
	}
	return nil
}

// count counts a request about leases.
func (l *leases) count(r *http.Request) {
	if r.URL.Path == api.PathLeasesRenew {
		l.asked["renew-all"]++
	} else if strings.HasPrefix(r.URL.Path, api.PathLease) && r.Method == http.MethodPost {
		l.asked[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]++
	}
}

// Lease carries out r. An acquisition that may wait does so in a queue, in the order of coming.
func (b *backend) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	began, l := time.Now(), &b.cluster.leases
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	g, err := l.do(&r)
	if err == nil || r.Wait == 0 || !isBusy(err) {
		return g, err
	}
	l.queue[r.Name] = append(l.queue[r.Name], r.Acquisition)
	defer l.leave(&r)
	for isBusy(err) && time.Since(began) < r.Wait && ctx.Err() == nil {
		until := began.Add(r.Wait)
		if x := l.live(r.Name); x != nil && x.ends.Before(until) {
			until = x.ends
		}
		news := l.news
		b.cluster.mu.Unlock()
		await(ctx, news, until)
		b.cluster.mu.Lock()
		g, err = l.do(&r)
	}
	if err == nil && l.tell {
		g.Waited = time.Since(began)
	}
	return g, err
}

func isBusy(err error) bool {
	_, busy := err.(*service.LeaseBusyError)
	return busy
}

// await waits for news, for a time or for the end of ctx.
func await(ctx context.Context, news <-chan struct{}, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// leave takes r out of the queue.
func (l *leases) leave(r *service.LeaseCommand) {
	q := l.queue[r.Name]
	if i := slices.Index(q, r.Acquisition); i >= 0 {
		l.queue[r.Name] = slices.Delete(q, i, i+1)
	}
	l.wake()
}

// do carries out r now, or says why not.
func (l *leases) do(r *service.LeaseCommand) (service.LeaseGrant, error) {
	x := l.live(r.Name)
	mine := x != nil && x.acquisition == r.Acquisition
	switch r.Op {
	case service.LeaseRelease:
		if mine {
			delete(l.held, r.Name)
			l.wake()
		}
		return service.LeaseGrant{}, nil
	case service.LeaseRenew:
		if !mine {
			return service.LeaseGrant{}, service.ErrLeaseGone
		}
		return l.grant(r, x), nil
	}
	if left := time.Until(l.quiet).Round(time.Millisecond); left > 0 {
		return service.LeaseGrant{}, &service.LeaseSilentError{Begins: left}
	}
	first := l.queue[r.Name]
	switch {
	case mine, x == nil && (len(first) == 0 || first[0] == r.Acquisition):
		return l.grant(r, x), nil
	case x == nil:
		return service.LeaseGrant{}, &service.LeaseBusyError{Owner: "somebody in the queue"}
	}
	return service.LeaseGrant{}, &service.LeaseBusyError{Owner: x.owner, RetryAfter: time.Until(x.ends)}
}

// grant grants r, whose own lease so far is x; nil: it has none.
func (l *leases) grant(r *service.LeaseCommand, x *lease) service.LeaseGrant {
	if x == nil {
		x = &lease{owner: r.Owner, acquisition: r.Acquisition}
		l.held[r.Name] = x
	}
	if x.token == 0 || l.grow {
		l.token++
		x.token = l.token
	}
	if ends := time.Now().Add(r.TTL); ends.After(x.ends) {
		x.ends = ends
	}
	l.serial++
	return service.LeaseGrant{Token: x.token, Serial: l.serial}
}

func (b *backend) ShowLease(name string) (service.LeaseHint, bool) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	if x := b.cluster.leases.live(name); x != nil {
		return x.hint(), true
	}
	return service.LeaseHint{}, false
}

func (x *lease) hint() service.LeaseHint {
	return service.LeaseHint{Owner: x.owner, Token: x.token, Left: time.Until(x.ends)}
}

// ListLeases returns what the node has recorded. Of three nodes or more each lease is unknown to one, as with real
// ones.
func (b *backend) ListLeases(_ context.Context, q service.LeaseQuery) (list service.LeaseList, _ error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	nodes := uint64(len(b.cluster.nodes))
	for _, name := range slices.Sorted(maps.Keys(b.cluster.leases.held)) {
		x := b.cluster.leases.live(name)
		unknown := nodes > 2 && x != nil && x.token%nodes == b.node.ID-1
		if x == nil || unknown || name < q.Start || !strings.HasPrefix(name, q.Prefix) ||
			q.Keep != nil && !q.Keep(name) {
			continue
		}
		if len(list.Leases) == q.Limit {
			list.Next = name
			break
		}
		list.Leases = append(list.Leases, service.NamedHint{Name: name, LeaseHint: x.hint()})
	}
	return list, nil
}
