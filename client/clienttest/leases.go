package clienttest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/api"
)

// firstToken is below the first one: tokens have an era in their upper half.
const firstToken = 1 << 32

// leases are the named ones, by name.
type leases struct {
	held  map[string]*lease
	token uint64 // the largest of all
	count uint64 // grants so far
	grow  bool
	tell  bool
	queue map[string][]string // acquisitions that wait, by name
	asked map[string]int      // requests by command
	quiet time.Time           // before it nothing can be acquired
}

type lease struct {
	owner, acquisition string
	token              uint64
	ends               time.Time
}

func newLeases() leases {
	return leases{held: map[string]*lease{}, token: firstToken, queue: map[string][]string{}, asked: map[string]int{}}
}

// leaseRequest is the body of a command on a lease, and for how long it has waited here.
type leaseRequest struct {
	api.LeaseRequest
	waited time.Duration
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
	c.news.wake()
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

// lease does what is asked about leases; nil if it must wait first.
func (c *Cluster) lease(w http.ResponseWriter, r *http.Request, body []byte) func() {
	if r.URL.Path == api.PathLeasesRenew {
		return c.leases.renewAll(w, body)
	}
	name := strings.TrimPrefix(r.URL.Path, api.PathLease)
	if r.Method == http.MethodGet {
		return c.leases.show(w, name)
	}
	var in leaseRequest
	i := strings.LastIndexByte(name, '/')
	if r.Method != http.MethodPost || i < 0 || decode(body, &in) != nil {
		return refuse(w, 400, api.CodeInvalid,
			"a command on a lease is POST /v1/lease/NAME/acquire, renew or release, with JSON")
	}
	name, command := name[:i], name[i+1:]
	c.leases.asked[command]++
	switch {
	case len(name) == 0 || len(name) > 256 || len(in.Owner) > 128:
		return refuse(w, 400, api.CodeInvalid, "the name has 1 to 256 bytes and the owner at most 128")
	case command == "acquire":
		return c.leases.acquire(w, name, in)
	case command == "renew":
		g, problem := c.leases.renew(name, in)
		if problem != "" {
			return refuse(w, 409, api.CodeLost, problem)
		}
		return sendJSON(w, g)
	case command == "release":
		if c.leases.release(name, in) {
			c.news.wake()
		}
		return sendText(w, "true")
	}
	return refuse(w, 404, api.CodeInvalid, "no such endpoint")
}

// list returns what a node of some has recorded. Of three nodes or more each lease is unknown to one, as with real
// ones.
func (l *leases) list(q url.Values, node, nodes uint64) api.LeasePage {
	limit := 1000
	if n := number(q, api.QueryLimit); n > 0 {
		limit = int(n)
	}
	list, next := []api.LeaseEntry{}, ""
	for _, name := range slices.Sorted(maps.Keys(l.held)) {
		x := l.live(name)
		unknown := nodes > 2 && x != nil && x.token%nodes == node-1
		if x == nil || unknown || !strings.HasPrefix(name, q.Get(api.QueryPrefix)) || name < q.Get(api.QueryStart) {
			continue
		}
		if len(list) == limit {
			next = name
			break
		}
		list = append(list, api.LeaseEntry{
			Name: name, Owner: x.owner, Token: x.token, Remaining: time.Until(x.ends).String(),
		})
	}
	return api.LeasePage{Leases: list, Next: next, Hint: true}
}

func (l *leases) show(w http.ResponseWriter, name string) func() {
	x := l.live(name)
	if x == nil {
		return refuse(w, 404, api.CodeNotFound, "this node knows of no owner")
	}
	return sendJSON(w, api.LeaseHint{Name: name, Owner: x.owner, Token: x.token,
		Remaining: time.Until(x.ends).String(), Hint: true})
}

// acquire grants a lease if it is free or its acquisition's already; nil if it is to queue.
func (l *leases) acquire(w http.ResponseWriter, name string, in leaseRequest) func() {
	ttl, err := time.ParseDuration(in.TTL)
	if err != nil || ttl < 100*time.Millisecond || ttl > 24*time.Hour {
		return refuse(w, 400, api.CodeInvalid, "the TTL must be from 100 ms to --max-lease-time")
	}
	if left := time.Until(l.quiet).Round(time.Millisecond); left > 0 {
		w.Header().Set(api.HeaderRetryAfter, strconv.Itoa(int((left+time.Second-1)/time.Second)))
		w.Header().Set(api.HeaderRetryAfterMS, strconv.FormatInt(left.Milliseconds(), 10))
		return refuse(w, 503, api.CodeQuarantine, fmt.Sprintf("leases begin in %v: the nodes have restarted", left))
	}
	if in.Acquisition == "" {
		in.Acquisition = fmt.Sprintf("drawn here %d", l.count)
	}
	x := l.live(name)
	first := l.queue[name]
	free := x == nil && (len(first) == 0 || first[0] == in.Acquisition)
	if free || x != nil && x.acquisition == in.Acquisition {
		return sendJSON(w, l.grant(name, in, ttl, x == nil || l.grow))
	}
	if in.Wait != "" {
		return nil
	}
	left := time.Duration(0)
	owner := "somebody in the queue"
	if x != nil {
		left, owner = time.Until(x.ends), x.owner
	}
	w.Header().Set(api.HeaderRetryAfter, strconv.Itoa(int((left+time.Second-1)/time.Second)))
	return refuse(w, 409, api.CodeBusy, string(encode(api.LeaseBusy{Owner: owner, RetryAfter: left.String()})))
}

func (l *leases) grant(name string, in leaseRequest, ttl time.Duration, newToken bool) api.LeaseRenewal {
	if newToken {
		l.token++
	}
	x := l.held[name]
	if x == nil || newToken {
		x = &lease{owner: in.Owner, acquisition: in.Acquisition, token: l.token, ends: time.Now()}
		if old := l.live(name); old != nil {
			x.ends = old.ends
		}
		l.held[name] = x
	}
	if ends := time.Now().Add(ttl); ends.After(x.ends) {
		x.ends = ends
	}
	l.count++
	g := api.LeaseRenewal{Name: name, Owner: x.owner, Token: x.token, TTL: ttl.String(),
		Grant: fmt.Sprintf("%d/%s/%s", l.count, ttl, in.Acquisition)}
	if l.tell && in.waited > 0 {
		g.Waited = in.waited.String()
	}
	return g
}

// of is the TTL and the acquisition of a grant.
func of(grant string) (ttl, acquisition string) {
	parts := strings.SplitN(grant, "/", 3)
	if len(parts) != 3 {
		return "", ""
	}
	return parts[1], parts[2]
}

// renew is a new grant, or why there is none.
func (l *leases) renew(name string, in leaseRequest) (g api.LeaseRenewal, problem string) {
	text, id := of(in.Grant)
	if in.TTL != "" {
		text = in.TTL
	}
	ttl, err := time.ParseDuration(text)
	if x := l.live(name); err != nil || x == nil || x.acquisition != id {
		return g, "the lease is gone: acquire it anew"
	}
	in.Acquisition = id
	return l.grant(name, in, ttl, l.grow), ""
}

func (l *leases) release(name string, in leaseRequest) bool {
	if in.Grant != "" {
		_, in.Acquisition = of(in.Grant)
	}
	if x := l.held[name]; x != nil && x.acquisition == in.Acquisition {
		delete(l.held, name)
		return true
	}
	return false
}

func (l *leases) renewAll(w http.ResponseWriter, body []byte) func() {
	l.asked["renew-all"]++
	var list []leaseRequest
	if decode(body, &list) != nil || len(list) > 1024 {
		return refuse(w, 400, api.CodeInvalid, "a list of at most 1,024 leases")
	}
	out := []api.LeaseRenewal{}
	for _, in := range list {
		g, problem := l.renew(in.Name, in)
		if problem != "" {
			g = api.LeaseRenewal{Name: in.Name, Code: api.CodeLost, Error: problem, Lost: true}
		}
		out = append(out, g)
	}
	return sendJSON(w, out)
}

// partitioned is the answer of a node that hears no other.
func partitioned(w http.ResponseWriter, r *http.Request, body []byte) func() {
	var list []leaseRequest
	if r.URL.Path != api.PathLeasesRenew || decode(body, &list) != nil {
		return refuse(w, 503, api.CodeNotApplied, "not applied: no quorum: injected")
	}
	out := []api.LeaseRenewal{}
	for _, in := range list {
		out = append(out, api.LeaseRenewal{Name: in.Name, Code: api.CodeNotApplied, Error: "no quorum: injected"})
	}
	return sendJSON(w, out)
}

// awaitLease queues for a busy lease, in the order of coming.
func (c *Cluster) awaitLease(w http.ResponseWriter, r *http.Request, body []byte) func() {
	var in leaseRequest
	if decode(body, &in) != nil {
		return refuse(w, 400, api.CodeInvalid, "bad JSON")
	}
	d, err := time.ParseDuration(in.Wait)
	if err != nil {
		return refuse(w, 400, api.CodeInvalid, "the Wait is no duration")
	}
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, api.PathLease), "/acquire")
	began := time.Now()
	end := began.Add(d)
	c.mu.Lock()
	c.leases.queue[name] = append(c.leases.queue[name], in.Acquisition)
	c.mu.Unlock()
	leave := func() {
		q := c.leases.queue[name]
		if i := slices.Index(q, in.Acquisition); i >= 0 {
			c.leases.queue[name] = slices.Delete(q, i, i+1)
		}
		c.news.wake()
	}
	for {
		c.mu.Lock()
		if !time.Now().Before(end) {
			in.Wait = ""
		}
		in.waited = time.Since(began)
		if answer := c.leases.acquire(w, name, in); answer != nil {
			leave()
			c.mu.Unlock()
			return answer
		}
		changed, until := c.news.next, end
		if x := c.leases.live(name); x != nil && x.ends.Before(end) {
			until = x.ends
		}
		c.mu.Unlock()
		if !await(r, changed, until) {
			c.mu.Lock()
			leave()
			c.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
	}
}
