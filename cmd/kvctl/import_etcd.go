//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"tenure/cmd/kvctl/internal/output"
	"tenure/cmd/kvctl/internal/records"
	"tenure/internal/input"
	"tenure/storage/etcdsnap"
)

// importEtcd imports a snapshot of etcd.
func (x *importCommand) importEtcd(ctx context.Context) error {
	if err := x.noReadMode(); err != nil {
		return err
	}
	c, err := x.config()
	if err == nil && x.format != string(records.Auto) {
		err = usage("--format is not for --from-etcd")
	}
	if err != nil {
		return err
	}
	file, err := input.Open(ctx, x.etcd)
	if err != nil {
		return importEnded(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s, err := etcdsnap.Open(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", x.etcd, err)
	}
	leased := 0
	next, stop := etcdRecords(s, &leased)
	count, err := countRecords(x.rename(next))
	stop()
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was written", x.etcd, err)
	}
	x.noteEtcd(s, leased)
	if x.dryRun {
		return x.printImportable(count)
	}
	next, stop = etcdRecords(s, new(int))
	defer stop()
	c.Next, c.Distinct = x.rename(next), true
	return x.load(ctx, c, count)
}

// noteEtcd prints the revision of a snapshot and what is not imported from it.
func (x *importCommand) noteEtcd(s *etcdsnap.Snapshot, leased int) {
	if !s.Summed {
		x.note("the file has no checksum: only its shape could be checked; etcdctl snapshot save adds one")
	}
	if leased > 0 {
		x.note("of %s in the file the lease is dropped: they stay until they are deleted",
			output.Plural(uint64(leased), "key"))
	}
	x.note("the file is of revision %d of that etcd", s.Revision)
}

// etcdRecords returns an iterator over the keys of s, and adds the number of keys with a lease to leased. The caller
// calls stop at the end.
func etcdRecords(s *etcdsnap.Snapshot, leased *int) (next func() (records.Record, error), stop func()) {
	var failed error
	pull, stop := iter.Pull(func(yield func(records.Record) bool) {
		stopped := errors.New("stopped")
		failed = s.Each(func(kv etcdsnap.KeyValue) error {
			if kv.Leased {
				*leased++
			}
			if !yield(records.Record{Key: string(kv.Key), Value: append([]byte{}, kv.Value...)}) {
				return stopped
			}
			return nil
		})
	})
	return func() (records.Record, error) {
		r, ok := pull()
		switch {
		case !ok && failed != nil:
			return r, failed
		case !ok:
			return r, io.EOF
		}
		return r, nil
	}, stop
}
