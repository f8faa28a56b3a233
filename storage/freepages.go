package storage

import (
	"errors"
	"reflect"

	bolt "go.etcd.io/bbolt"
)

// pageIDs is the free list of a bbolt file, rising. It is valid while nothing writes to the file.
type pageIDs struct{ ids reflect.Value }

func (p pageIDs) len() int { return p.ids.Len() }

func (p pageIDs) at(i int) uint64 { return p.ids.Index(i).Uint() }

var errNoFreePages = errors.New("this program was built with a version of bbolt whose free list it cannot see; build " +
	"it with the version in go.mod")

// availablePages returns the pages that bbolt would give to its next transaction: those that no transaction which can still
// be read uses, and so not those that the newest ones have freed while an older view is open. Only bbolt knows; its
// statistics of open views lag behind. Nothing writes to the file until the caller is done. The file must have its free
// list as an array.
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
