package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"tenure/api"
	"tenure/client"
)

// LeaseAsk is the body of a request about a named lease.
type LeaseAsk struct {
	Name        string `json:",omitempty"` // of one of many only
	Owner       string
	TTL         string `json:",omitempty"`
	Acquisition string `json:",omitempty"`
	Grant       string `json:",omitempty"`
	Wait        string `json:",omitempty"`
}

// LeaseGrant is a grant. For one of many that failed, Error says why, and Lost that the lease has ended.
type LeaseGrant struct {
	Name, Owner, Grant, TTL string
	Waited                  string // how long the node waited: the time of the grant counts from so much later
	Token                   uint64
	Error                   string
	Lost                    bool
}

// Why a request was refused. All other errors are those of package client.
var (
	ErrLeaseBusy = errors.New("somebody else owns")
	ErrLeaseGone = errors.New("the lease has ended")
)

// LeaseConn sends HTTP requests about named leases. Each is sent once, and to another node only if the first has
// certainly not taken it. It is for one goroutine at a time.
type LeaseConn struct{ raw *raw }

// NewLeaseConn returns a connection that begins with the first endpoint. The caller must close it.
func NewLeaseConn(endpoints []string) *LeaseConn { return &LeaseConn{newRaw(endpoints)} }

// Close closes idle connections.
func (c *LeaseConn) Close() { c.raw.close() }

// Acquire asks for a name; ErrLeaseBusy if somebody else owns it.
func (c *LeaseConn) Acquire(ctx context.Context, name string, ask LeaseAsk) (LeaseGrant, error) {
	a, err := c.post(ctx, leasePath(name, "acquire"), ask)
	if err == nil && a.status == http.StatusConflict {
		var busy struct{ RetryAfter string }
		if json.Unmarshal(a.body, &busy) == nil && busy.RetryAfter != "" {
			return LeaseGrant{}, ErrLeaseBusy
		}
	}
	return granted(a, err)
}

// Renew asks for more time; ErrLeaseGone if the lease has ended.
func (c *LeaseConn) Renew(ctx context.Context, name string, ask LeaseAsk) (LeaseGrant, error) {
	a, err := c.post(ctx, leasePath(name, "renew"), ask)
	if err == nil && a.status == http.StatusConflict {
		return LeaseGrant{}, ErrLeaseGone
	}
	return granted(a, err)
}

// RenewAll asks for more time for many leases at once. The answers are in the order of asks.
func (c *LeaseConn) RenewAll(ctx context.Context, asks []LeaseAsk) (out []LeaseGrant, err error) {
	a, err := c.post(ctx, api.PathLeasesRenew, asks)
	if err == nil && (a.status != http.StatusOK || json.Unmarshal(a.body, &out) != nil || len(out) != len(asks)) {
		err = unexpected(a)
	}
	return out, err
}

// Release ends an acquisition for good.
func (c *LeaseConn) Release(ctx context.Context, name string, ask LeaseAsk) error {
	a, err := c.post(ctx, leasePath(name, "release"), ask)
	if err == nil && (a.status != http.StatusOK || !a.is("true")) {
		err = unexpected(a)
	}
	return err
}

func leasePath(name, verb string) string {
	return (&url.URL{Path: api.PathLease + name + "/" + verb}).EscapedPath()
}

func (c *LeaseConn) post(ctx context.Context, path string, body any) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return c.raw.request(ctx, http.MethodPost, path, text)
}

func granted(a answer, err error) (g LeaseGrant, _ error) {
	if err == nil && (a.status != http.StatusOK || json.Unmarshal(a.body, &g) != nil) {
		err = unexpected(a)
	}
	return g, err
}

// Of checks that g is what was asked for, and returns how long the request has waited for a busy name.
func (g *LeaseGrant) Of(name, owner string, ttl time.Duration) (waited time.Duration, err error) {
	got, err := time.ParseDuration(g.TTL)
	if err == nil && g.Waited != "" {
		waited, err = time.ParseDuration(g.Waited)
	}
	if err != nil || got != ttl || waited < 0 || g.Name != name || g.Owner != owner || g.Grant == "" || g.Token == 0 {
		return 0, fmt.Errorf("%w: %+v is no grant of %s to %s for %v", client.ErrUnknown, *g, name, owner, ttl)
	}
	return waited, nil
}
