package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/lease/named"
	"tenure/server/replica"
	"tenure/server/web"
)

// leaseScan is how many records one round of the part for named leases looks at for a list: some 50 µs, so that
// nobody's lease waits.
const leaseScan = 1024

// ListLeases is L1 for a list: what this node's acceptor has recorded. It is gathered over many rounds, so it is no
// picture of one moment.
func (n *Node) ListLeases(ctx context.Context, q web.LeaseQuery) (web.LeaseList, error) {
	list := leasePage{query: q}
	for from, done := uint32(0), false; !done; {
		next, err := n.scanLeases(ctx, from, &list)
		if err != nil {
			return web.LeaseList{}, err
		}
		from, done = next, next == 0
	}
	return list.result(max(0, n.named.quarantine-n.clock.Now())), nil
}

// scanLeases has one round look at the records from place from on, and returns the place to go on from, or 0.
func (n *Node) scanLeases(ctx context.Context, from uint32, list *leasePage) (next uint32, err error) {
	done := make(chan uint32, 1)
	part := leasePage{query: list.query}
	ok := n.named.inbox.putClient(namedEvent{LeasesEvent: replica.LeasesEvent{Call: func(now time.Duration) {
		done <- n.named.part.Walk(now, from, leaseScan, part.add)
	}}})
	if !ok {
		return 0, tooMany()
	}
	select {
	case next = <-done:
		list.merge(part.found)
		return next, nil
	case <-n.ended:
		return 0, fmt.Errorf("%w: this node is stopping", web.ErrNotApplied)
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: the list took too long", web.ErrNotApplied)
	}
}

// leasePage keeps the first names of all that it is told, and one more.
type leasePage struct {
	query web.LeaseQuery
	found []web.NamedHint
}

func (p *leasePage) add(name string, l named.Lease) {
	if strings.HasPrefix(name, p.query.Prefix) && name >= p.query.Start {
		p.found = append(p.found, web.NamedHint{Name: name, LeaseHint: web.LeaseHint{Owner: l.Owner, Token: uint64(l.Token), Left: l.Left}})
	}
}

func (p *leasePage) merge(more []web.NamedHint) {
	p.found = append(p.found, more...)
	if len(p.found) > 2*p.query.Limit+leaseScan {
		p.cut()
	}
}

func (p *leasePage) cut() {
	slices.SortFunc(p.found, func(a, b web.NamedHint) int { return strings.Compare(a.Name, b.Name) })
	// A name whose record was dropped and made anew during the scan may come twice: the newer one has the larger token.
	kept := p.found[:0]
	for _, h := range p.found {
		switch last := len(kept) - 1; {
		case last < 0 || kept[last].Name != h.Name:
			kept = append(kept, h)
		case h.Token > kept[last].Token:
			kept[last] = h
		}
	}
	p.found = kept[:min(len(kept), p.query.Limit+1)]
}

func (p *leasePage) result(silent time.Duration) web.LeaseList {
	p.cut()
	out := web.LeaseList{Leases: p.found, Silent: silent}
	if len(p.found) > p.query.Limit {
		out.Leases, out.Next = p.found[:p.query.Limit], p.found[p.query.Limit].Name
	}
	return out
}
