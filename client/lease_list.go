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

// LeaseListOptions says which leases to list. The zero value lists all.
type LeaseListOptions struct {
	Prefix string // of the names
	Start  string // the first name to list; it need not exist
	Limit  int    // the most to list, up to 10,000; 0: 1,000
}

// LeasePage is a page of the leases that the nodes know of, by name. They are hints, see LeaseInfo.
type LeasePage struct {
	Leases []LeaseInfo
	Next   string // the Start of the next page; "": there is none
	// Unasked are the endpoints that did not answer; leases that only they have recorded are missing.
	Unasked []string
	// Quarantine is how long some node that was restarted records no leases yet; 0: every node does.
	Quarantine time.Duration
}

// List asks all endpoints at once which leases they know of, and merges their answers. Each lease is recorded by a
// majority of the nodes, so none is missing if a majority answers and none of them was just restarted. But an owner may
// have renewed or released a lease meanwhile, so no program should decide anything by the list. List fails only if no
// endpoint answers.
func (c *Leases) List(ctx context.Context, o LeaseListOptions) (LeasePage, error) {
	const op = "list leases"
	if o.Limit < 0 {
		return LeasePage{}, &Error{Op: op, Kind: ErrInvalid, Err: errors.New("the limit is negative")}
	}
	ctx, cancel := c.s.bounded(ctx)
	defer cancel()
	nodes := c.s.endpoints.all()
	pages, errs := make([]api.LeasePage, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i, e := range nodes {
		all.Go(func() { pages[i], errs[i] = c.listOf(ctx, e, o) })
	}
	all.Wait()
	out, failed, refused, missing := mergeLeases(pages, errs, o), error(nil), 0, 0
	for i, err := range errs {
		if err != nil {
			if errors.Is(err, syscall.ECONNREFUSED) {
				refused++
			}
			if noSuchHost(err) {
				missing++
			}
			failed = err
			out.Unasked = append(out.Unasked, nodes[i].String())
		}
	}
	if len(out.Unasked) < len(nodes) {
		return out, nil
	}
	switch len(nodes) {
	case refused:
		failed = fmt.Errorf("%w: %w", ErrRefused, failed)
	case missing:
		failed = fmt.Errorf("%w: %w", ErrNoSuchHost, failed)
	}
	kind := ErrUnavailable
	var status *StatusError
	if errors.As(failed, &status) && kindOfRefusal(status.Code) != nil {
		kind = kindOfRefusal(status.Code)
	}
	return LeasePage{}, &Error{Op: op, Kind: kind, Err: failed}
}

// listOf asks one endpoint.
func (c *Leases) listOf(ctx context.Context, e *endpoint, o LeaseListOptions) (api.LeasePage, error) {
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
	a, _, err := c.s.exchange(ctx, e, request{method: http.MethodGet, path: api.PathLeases, query: q})
	switch {
	case err != nil:
		return p, err
	case a.status != http.StatusOK:
		return p, a.failure()
	case json.Unmarshal(a.body, &p) != nil || p.Leases == nil:
		return p, fmt.Errorf("%s: %w", a.endpoint, errNotUnderstood)
	}
	return p, nil
}

// mergeLeases merges the pages that have no error. Of the entries with one name, the one with the larger token is
// newer; of those with one token, the one with more time left.
func mergeLeases(pages []api.LeasePage, errs []error, o LeaseListOptions) LeasePage {
	var out LeasePage
	best := map[string]LeaseInfo{}
	for i := range pages {
		p := &pages[i]
		if errs[i] != nil {
			continue
		}
		// After the end of its page a node may know of more leases, so the merged page ends there.
		if p.Next != "" && (out.Next == "" || p.Next < out.Next) {
			out.Next = p.Next
		}
		if d, err := time.ParseDuration(p.Silent); err == nil {
			out.Quarantine = max(out.Quarantine, d)
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
