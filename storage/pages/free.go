package pages

import (
	"errors"
	"reflect"
	"sort"
)

// FreeList is the free list of a bbolt file, sorted. It is valid until the next write to the file.
type FreeList struct{ ids reflect.Value }

func (p FreeList) len() int { return p.ids.Len() }

func (p FreeList) at(i int) uint64 { return p.ids.Index(i).Uint() }

var errNoFreePages = errors.New("this program was built with a version of bbolt whose free list it cannot see; build " +
	"it with the version in go.mod")

// Reusable returns the free pages that bbolt would use in its next transaction. No open view can read them; pages freed
// since the oldest view was opened are not among them. Only bbolt itself knows them: its statistics of open views lag
// behind. The caller must not write to the file while it uses the result. The free list must be of bbolt's array type.
func (c *File) Reusable() (FreeList, error) {
	list := reflect.ValueOf(c.db).Elem().FieldByName("freelist")
	for list.IsValid() && (list.Kind() == reflect.Interface || list.Kind() == reflect.Pointer) {
		list = list.Elem()
	}
	if !list.IsValid() || list.Kind() != reflect.Struct {
		return FreeList{}, errNoFreePages
	}
	ids := list.FieldByName("ids")
	if !ids.IsValid() || ids.Kind() != reflect.Slice || ids.Type().Elem().Kind() != reflect.Uint64 {
		return FreeList{}, errNoFreePages
	}
	return FreeList{ids}, nil
}

// LastRuns calls fn with runs of consecutive pages below page below, the highest first. It ends when the runs have so
// many pages in all, or after as many runs. It returns the first page of the last run, or 0 if no free page is below
// it.
func (p FreeList) LastRuns(below, pages uint64, runs int, fn func(first, n uint64) error) (next uint64, err error) {
	end := sort.Search(p.len(), func(i int) bool { return p.at(i) >= below })
	for ; end > 0 && pages > 0 && runs > 0; runs-- {
		first, n := p.at(end-1), uint64(1)
		for end--; end > 0 && n < pages && p.at(end-1) == first-1; end-- {
			first, n = first-1, n+1
		}
		if err := fn(first, n); err != nil {
			return 0, err
		}
		next, pages = first, pages-n
	}
	if end == 0 {
		return 0, nil
	}
	return next, nil
}
