package storage

import (
	"errors"
	"reflect"

	bolt "go.etcd.io/bbolt"
)

// pageIDs is the free list of a bbolt file, sorted. It is valid until the next write to the file.
type pageIDs struct{ ids reflect.Value }

func (p pageIDs) len() int { return p.ids.Len() }

func (p pageIDs) at(i int) uint64 { return p.ids.Index(i).Uint() }

var errNoFreePages = errors.New("this program was built with a version of bbolt whose free list it cannot see; build " +
	"it with the version in go.mod")

// availablePages returns the free pages that bbolt would use in its next transaction. No open view can read them; pages
// freed since the oldest view was opened are not among them. Only bbolt itself knows them: its statistics of open views
// lag behind. The caller must not write to the file while it uses the result. The free list must be of bbolt's array
// type.
func availablePages(db *bolt.DB) (pageIDs, error) {
	list := reflect.ValueOf(db).Elem().FieldByName("freelist")
	for list.IsValid() && (list.Kind() == reflect.Interface || list.Kind() == reflect.Pointer) {
		list = list.Elem()
	}
	if !list.IsValid() || list.Kind() != reflect.Struct {
		return pageIDs{}, errNoFreePages
	}
	ids := list.FieldByName("ids")
	if !ids.IsValid() || ids.Kind() != reflect.Slice || ids.Type().Elem().Kind() != reflect.Uint64 {
		return pageIDs{}, errNoFreePages
	}
	return pageIDs{ids}, nil
}
