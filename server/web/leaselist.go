package web

import (
	"cmp"
	"unicode/utf8"

	"tenure/api"
	"tenure/server/service"
)

// defaultLeasePage is how many leases a page has if the client names no limit.
const defaultLeasePage = 1000

// list lists the live leases that this node's own acceptor has recorded, in the order of their names: a hint. A
// lease is recorded by a majority of the nodes, which need not have this one in it, and a node that was restarted
// remembers none.
func (h *leaseHandler) list(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &leasesRules)
	switch {
	case err != nil:
	case q.limit > api.MaxLeasePage:
		err = service.Invalid("`limit=%d`: must be at most %d; `Next` in the answer is the `start` of the next page",
			q.limit, api.MaxLeasePage)
	case !utf8.ValidString(q.prefix) || !utf8.ValidString(q.start):
		err = service.Invalid("`prefix` and `start` must be UTF-8")
	}
	if err != nil {
		return err
	}
	list, hidden, err := x.req.ListLeases(x.r.Context(), service.LeaseQuery{
		Prefix: q.prefix, Start: q.start, Limit: cmp.Or(q.limit, defaultLeasePage)})
	if err != nil {
		return err
	}
	out := api.LeasePage{Leases: make([]api.LeaseEntry, len(list.Leases)), Next: list.Next, Hint: true}
	if list.Silent > 0 {
		out.Silent = durationText(list.Silent)
	}
	for i, l := range list.Leases {
		out.Leases[i] = api.LeaseEntry{Name: l.Name, Owner: l.Owner, Token: l.Token, Remaining: durationText(l.Left)}
	}
	if hidden {
		x.w.Header()[api.HeaderFiltered] = headerTrue
	}
	x.marshalled(out)
	return nil
}
