package recovery

import (
	"fmt"
	"io"
	"path/filepath"

	"tenure/server/backup"
	"tenure/server/members"
	"tenure/storage"
)

// Restore makes dir, which must not be there or be empty, the data directory of the only voter of a new cluster, with
// the state of a backup and the jumps: whole, or not at all. The voter has the smallest id of the voters that the
// backup names, and its name; it has no addresses until it is started. The leases that the old cluster has granted
// since are unknown. So the first run keeps silent for the longest lease that the old cluster or the node allows (A4).
//
// Before the jumps, Restore checks by number and digest that the copy has the records of the backup. After them it
// checks the result by reading it back.
func Restore(r io.Reader, dir string) (Result, backup.Info, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Result{}, backup.Info{}, err
	}
	if err := mustBeEmpty(dir); err != nil {
		return Result{}, backup.Info{}, err
	}
	b, err := backup.Open(r)
	if err != nil {
		return Result{}, backup.Info{}, err
	}
	out, err := fromBackup(dir, b, "the backup", func(to *rebuild) error { return to.restore(b) })
	return out, b.Info(), err
}

// fromBackup makes dir the directory of a new cluster, with the state that fill makes of a backup. name is what an
// error calls the backup.
func fromBackup(dir string, from *backup.Reader, name string, fill func(*rebuild) error) (Result, error) {
	m := from.Membership()
	if len(m.Members) == 0 {
		return Result{}, refuse("%s names no voter", name)
	}
	return whole(dir, func(dir string) (Result, error) {
		return newCluster(dir, m.Members[0].Node, startRecordOf(from.Info()), func(to *rebuild) error {
			if err := fill(to); err != nil {
				return err
			}
			to.forgetHosts()
			return nil
		})
	})
}

// startRecordOf returns the start record before the first run of a cluster that a backup becomes.
func startRecordOf(i backup.Info) storage.StartRecord {
	return storage.StartRecord{Restart: 1, Quarantine: storage.Quarantine{User: i.Longest}}
}

// restore copies the state of a backup.
func (b *rebuild) restore(from *backup.Reader) error {
	info := from.Info()
	err := b.copyState(source{slot: info.Slot, meta: info.Meta, each: from.Records}, nil)
	if err != nil {
		return err
	}
	if count, digest := b.to.Records(); count != info.Records || digest != info.Digest {
		return fmt.Errorf("the copy has %d records with digest %016x, and the backup %d with %016x", count, digest,
			info.Records, info.Digest)
	}
	first := members.First(from.Membership())
	record := first
	if bytes := b.state.Members(); bytes != nil {
		if record, err = members.Decode(bytes); err != nil {
			return err
		}
	}
	b.nextNode = first.NextNode
	b.follow(record)
	return nil
}

// forgetHosts clears the addresses of the members, which are those of the old cluster's machines.
func (b *rebuild) forgetHosts() {
	for i := range b.record.Membership.Members {
		b.record.Membership.Members[i].PeerAddr, b.record.Membership.Members[i].ClientAddr = "", ""
	}
}
