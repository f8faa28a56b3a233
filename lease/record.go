package lease

import (
	"slices"
	"strings"
	"time"

	"tenure/internal/ballot"
)

// record is what an acceptor remembers of one resource: the promise, and the lease last accepted, if until is ahead.
type record struct {
	promised ballot.Ballot
	owner    ballot.Incarnation
	ballot   ballot.Ballot
	until    time.Duration // end of the exclusion; 0 after a release
}

func (r *record) live(now time.Duration) bool { return now < r.until }

// blocks tells whether r is a live lease of somebody other than owner.
func (r *record) blocks(now time.Duration, owner ballot.Incarnation) bool {
	return r.live(now) && r.owner != owner
}

// names holds the records of user resources, sorted by name. With a bound of thousands, moving its tail at an insert
// costs microseconds; renewals insert nothing.
type names []entry

type entry struct {
	name string
	record
}

func (n names) clone() names { return slices.Clone(n) }

func (n names) search(name string) (int, bool) {
	return slices.BinarySearchFunc(n, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
}

// find is the record of a resource, nil if there is none.
func (a *Acceptor) find(resource string) *record {
	if resource == MasterResource {
		return &a.master
	}
	if i, ok := a.names.search(resource); ok {
		return &a.names[i].record
	}
	return nil
}

// record is the record of a resource, made if need be; nil if MaxNames are live. It is valid until the next call.
//
// To make room, names without a live lease are forgotten with their promises. The exclusion does not need those: a
// record that lives is protected by its owner's name and its own ballot (A2), and one that does not excludes nobody.
// The master's promise is never forgotten.
func (a *Acceptor) record(now time.Duration, resource string) *record {
	if r := a.find(resource); r != nil {
		return r
	}
	if len(a.names) >= a.cfg.MaxNames {
		a.names = slices.DeleteFunc(a.names, func(e entry) bool { return !e.live(now) })
	}
	if len(a.names) >= a.cfg.MaxNames {
		return nil
	}
	i, _ := a.names.search(resource)
	a.names = slices.Insert(a.names, i, entry{name: resource})
	return &a.names[i].record
}
