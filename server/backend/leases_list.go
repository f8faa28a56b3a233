package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/lease/named"
	"tenure/server/runner"
	"tenure/server/service"
)

// leaseScan is how many records one round of the part for named leases looks at for a list: some 50 µs, so that
// nobody's lease waits.
const leaseScan = 1024

// ListLeases is L1 for a list: the records of this node's acceptor. The list is gathered over many rounds, so it does
// not show one moment.
func (b *Leases) ListLeases(ctx context.Context, q service.LeaseQuery) (service.LeaseList, error) {
	list := leasePage{query: q}
	for from, done := uint32(0), false; !done; {
		part := leasePage{query: q}
		next, err := b.cfg.Runner.Walk(ctx, from, leaseScan, part.add)
		switch refused := untaken(err); {
		case refused != nil:
			return service.LeaseList{}, refused
		case errors.Is(err, runner.ErrEnded):
			return service.LeaseList{}, fmt.Errorf("%w: %w", service.ErrNotApplied, err)
		case err != nil:
			return service.LeaseList{}, fmt.Errorf("%w: the list took too long", service.ErrNotApplied)
		}
		list.merge(part.found)
		from, done = next, next == 0
	}
	return list.result(b.cfg.Runner.QuarantineLeft(b.cfg.Clock.Now())), nil
}

// leasePage keeps the first names of all that it is told, and one more.
type leasePage struct {
	query service.LeaseQuery
	found []service.NamedHint
}

func (p *leasePage) add(name string, l named.Lease) {
	if strings.HasPrefix(name, p.query.Prefix) && name >= p.query.Start {
		p.found = append(p.found, service.NamedHint{Name: name,
			LeaseHint: service.LeaseHint{Owner: l.Owner, Token: uint64(l.Token), Left: l.Left}})
	}
}

func (p *leasePage) merge(more []service.NamedHint) {
	for _, h := range more {
		if p.query.Keep == nil || p.query.Keep(h.Name) {
			p.found = append(p.found, h)
		}
	}
	if len(p.found) > 2*p.query.Limit+leaseScan {
		p.cut()
	}
}

func (p *leasePage) cut() {
	slices.SortFunc(p.found, func(a, b service.NamedHint) int { return strings.Compare(a.Name, b.Name) })
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

func (p *leasePage) result(silent time.Duration) service.LeaseList {
	p.cut()
	out := service.LeaseList{Leases: p.found, Silent: silent}
	if len(p.found) > p.query.Limit {
		out.Leases, out.Next = p.found[:p.query.Limit], p.found[p.query.Limit].Name
	}
	return out
}
