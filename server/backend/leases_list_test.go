package backend

import (
	"testing"
	"time"

	"tenure/lease/named"
	"tenure/server/service"
)

// A page has the first names of all, whatever order they come in, and a name once.
func TestLeasePage(t *testing.T) {
	p := leasePage{query: service.LeaseQuery{Prefix: "a", Start: "a2", Limit: 3}}
	for round := range 3000 {
		part := leasePage{query: p.query}
		for _, name := range []string{"a9", "a5", "a2", "b", "a1", "a7"} {
			part.add(name, named.Lease{Token: named.Token(round + 1)})
		}
		p.merge(part.found)
	}
	if len(p.found) > 2*p.query.Limit+leaseScan+6 {
		t.Errorf("%d are kept", len(p.found))
	}
	got := p.result(time.Second)
	if len(got.Leases) != 3 || got.Leases[0].Name != "a2" || got.Leases[2].Name != "a7" || got.Leases[1].Token != 3000 || got.Next != "a9" || got.Silent != time.Second {
		t.Errorf("%+v", got)
	}
}
