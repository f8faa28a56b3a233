package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tenure/api"
)

// LeaseListOptions says which leases to list: all, if it is the zero value.
type LeaseListOptions struct {
	Prefix string // what the names begin with
	Start  string // the first name to list, itself included; it need not exist
	Limit  int    // how many at most, up to 10,000; 0: 1,000
}

// LeasePage is what the nodes know of live leases, in the order of their names: hints, as LeaseInfo is.
type LeasePage struct {
	Leases []LeaseInfo
	Next   string // the Start of the next page; "": there is none
	// Unasked are the endpoints that did not answer; leases that only they have recorded are missing.
	Unasked []string
	// Silent is for how long some node that was restarted learns of no lease yet; 0: none keeps silent.
	Silent time.Duration
}

// Leases asks all endpoints at once which leases they know of, and puts their answers together. Each lease is recorded
// by a majority of the nodes, so none is missing if a majority answers and none of them was just restarted; but the
// owner may have renewed or released it meanwhile. Never decide anything by it. It fails only if no endpoint answers.
func (c *Client) Leases(ctx context.Context, o LeaseListOptions) (LeasePage, error) {
	const op = "list leases"
	if o.Limit < 0 {
		return LeasePage{}, &Error{Op: op, Kind: ErrInvalid, Err: errors.New("the limit is negative")}
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	pages, errs := make([]api.LeasePage, len(c.endpoints)), make([]error, len(c.endpoints))
	var all sync.WaitGroup
	for i := range c.endpoints {
		all.Go(func() { pages[i], errs[i] = c.leasesOf(ctx, i, o) })
	}
	all.Wait()
	out, failed, refused := mergeLeases(pages, errs, o), error(nil), 0
	for i, err := range errs {
		if err != nil {
			if errors.Is(err, syscall.ECONNREFUSED) {
				refused++
			}
			failed = err
			out.Unasked = append(out.Unasked, c.endpoints[i].String())
		}
	}
	if len(out.Unasked) == len(c.endpoints) {
		if refused == len(c.endpoints) {
			failed = fmt.Errorf("%w: %w", ErrRefused, failed)
		}
		kind := ErrUnavailable
		var status *StatusError
		if errors.As(failed, &status) && kindOfRefusal(status.Code) != nil {
			kind = kindOfRefusal(status.Code)
		}
		return LeasePage{}, &Error{Op: op, Kind: kind, Err: failed}
	}
	return out, nil
}

func (c *Client) leasesOf(ctx context.Context, endpoint int, o LeaseListOptions) (api.LeasePage, error) {
	var q query
	if o.Prefix != "" {
		q.value(api.QueryPrefix, o.Prefix)
	}
	if o.Start != "" {
		q.value(api.QueryStart, o.Start)
	}
	if o.Limit > 0 {
		q.value(api.QueryLimit, strconv.Itoa(o.Limit))
	}
	var p api.LeasePage
	a, _, err := c.exchange(ctx, endpoint, request{method: http.MethodGet, path: api.PathLeases, query: q.String()})
	switch {
	case err != nil:
		return p, err
	case a.status != http.StatusOK && !a.ofNode():
		return p, a.stranger()
	case a.status != http.StatusOK:
		return p, a.err()
	case json.Unmarshal(a.body, &p) != nil || p.Leases == nil:
		return p, fmt.Errorf("%s: %w", a.endpoint, errNotUnderstood)
	}
	return p, nil
}

// mergeLeases makes one page of those without an error. Of one name the larger token is the newer; of one token the
// longer time.
func mergeLeases(pages []api.LeasePage, errs []error, o LeaseListOptions) LeasePage {
	var out LeasePage
	best := map[string]LeaseInfo{}
	for i := range pages {
		p := &pages[i]
		if errs[i] != nil {
			continue
		}
		// Behind the end of one node's page it may know of more leases.
		if p.Next != "" && (out.Next == "" || p.Next < out.Next) {
			out.Next = p.Next
		}
		if d, err := time.ParseDuration(p.Silent); err == nil {
			out.Silent = max(out.Silent, d)
		}
		for _, l := range p.Leases {
			left, _ := time.ParseDuration(l.Remaining)
			old := best[l.Name]
			if l.Token > old.Token || l.Token == old.Token && left > old.Remaining {
				best[l.Name] = LeaseInfo{Name: l.Name, Owner: l.Owner, Token: l.Token, Remaining: left}
			}
		}
	}
	for name, l := range best {
		if out.Next == "" || name < out.Next {
			out.Leases = append(out.Leases, l)
		}
	}
	slices.SortFunc(out.Leases, func(a, b LeaseInfo) int { return strings.Compare(a.Name, b.Name) })
	if o.Limit > 0 && len(out.Leases) > o.Limit {
		out.Next, out.Leases = out.Leases[o.Limit].Name, out.Leases[:o.Limit]
	}
	return out
}
