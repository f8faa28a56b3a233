// Command tamper changes a value in the state database of a stopped node, with all its checksums and the digest in the
// file right. The node itself cannot notice the change; only a comparison with the others can. It is for tests.
//
//	tamper DIR KEY
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"tenure/kv"
	"tenure/storage"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: tamper DIR KEY")
		os.Exit(2)
	}
	if err := tamper(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "tamper: %v\n", err)
		os.Exit(1)
	}
}

// tamper flips a bit in the last byte of the value of key, by a checkpoint through the slot that the state has already.
func tamper(dir, key string) (err error) {
	s, err := storage.Open(dir, storage.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	slot, meta, err := s.Loaded()
	if err != nil {
		return err
	}
	v, err := s.View()
	if err != nil {
		return err
	}
	record, err := v.Get(kv.KindData, []byte(key))
	record = append([]byte(nil), record...)
	v.Close()
	switch {
	case err != nil:
		return err
	case len(record) == 0:
		return fmt.Errorf("%s has no key %q in its newest checkpoint", dir, key)
	}
	record[len(record)-1] ^= 1
	return s.Checkpoint(&kv.Checkpoint{Slot: slot, Meta: meta,
		Changes: slices.Values([]kv.Change{{Kind: kv.KindData, Key: []byte(key), Value: record}})})
}
