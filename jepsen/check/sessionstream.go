package check

import (
	"cmp"
	"fmt"
	"slices"

	"tenure/jepsen/history"
)

// streams checks, from what streams of all changes told, that a session's locks end with it.
func (s *sessions) streams(ops []history.Op) {
	by := map[int][]history.Op{}
	for _, op := range ops {
		if op.Kind == history.Stream && op.Key == "" {
			by[op.Client] = append(by[op.Client], op)
		}
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
		f := newFollowed(s)
		for _, op := range list {
			if op.Index != f.at {
				f = newFollowed(s) // changes are missing
			}
			f.take(op)
		}
	}
}

// followed is what an unbroken row of streams has told.
type followed struct {
	s       *sessions
	at      uint64
	created map[string]bool
	ended   map[string]uint64
	holder  map[string]string // key → session
	row     []history.Op
}

func newFollowed(s *sessions) *followed {
	return &followed{s, 0, map[string]bool{}, map[string]uint64{}, map[string]string{}, nil}
}

// take goes through what one stream told, a revision at a time. Revisions that were not told in full are left out.
func (f *followed) take(op history.Op) {
	f.row = append(f.row, op)
	list := op.Entries
	for len(list) > 0 && list[0].Modify <= op.Result {
		n := 1
		for n < len(list) && list[n].Modify == list[0].Modify {
			n++
		}
		f.revision(list[:n])
		list = list[n:]
	}
	f.at = op.Result
}

func (f *followed) revision(list []history.Entry) {
	for _, e := range list {
		if e.Key != "" {
			continue
		}
		if !f.created[e.Session] {
			f.created[e.Session] = true
			continue
		}
		f.ended[e.Session] = e.Modify
		f.freed(e, list)
	}
	for _, e := range list {
		if e.Key == "" {
			continue
		}
		if at, dead := f.ended[e.Session]; e.Session != "" && dead {
			f.s.r.add("locked by the dead", fmt.Sprintf("%s is locked at %d by a session that ended at %d", e.Key,
				e.Modify, at), f.row...)
		}
		if f.holder[e.Key] = e.Session; e.Session == "" {
			delete(f.holder, e.Key)
		}
	}
}

// freed checks that all that a session held is freed in the revision in which it ends, in the way it was created for.
func (f *followed) freed(end history.Entry, list []history.Entry) {
	for key, holder := range f.holder {
		if holder != end.Session {
			continue
		}
		i := slices.IndexFunc(list, func(e history.Entry) bool { return e.Key == key })
		l := f.s.byID[holder]
		switch {
		case i < 0:
			f.s.r.add("lock outlives session",
				fmt.Sprintf("a session ended at %d, and %s, which it had locked, was not freed then", end.Modify, key),
				f.row...)
		case l != nil && l.create.Deletes != (list[i].Create == 0):
			f.s.r.add("wrong behavior",
				fmt.Sprintf("a session ended at %d; that its keys are deleted is %v, that %s was is %v",
					end.Modify, l.create.Deletes, key, list[i].Create == 0), append(slices.Clone(f.row), l.create)...)
		}
	}
}
