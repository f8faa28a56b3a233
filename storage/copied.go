package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tenure/internal/shown"
	"tenure/storage/internal/disk"
)

// A copy of a data directory that is started beside the original, or after it, has forgotten what the original promised
// since. That cannot be known in general (an image of the whole disk looks the same), but a copy of the files has
// another inode and another birth time. So log.db records where it lay:
//
//   - both birth times known: different ones are refused. The inode is not asked, since it changes on some file
//     systems with every mount;
//   - otherwise: different inodes are refused;
//   - another machine id is only noted: a volume that moves between machines is common, and containers have none.
//
// Moving a directory by a copy looks the same as cloning it. If the original was stopped before the copy was made, and
// will never run again, the operator may create the file accept-copy in the directory. Open removes the file and
// records the new place.

// refuseCopy compares where log.db lies with where it lay when it was written last.
func refuseCopy(dir string, was, is diskRecord) error {
	birthKnown := was.BirthSec != 0 && is.BirthSec != 0
	same := was.Inode == is.Inode
	if birthKnown {
		same = was.BirthSec == is.BirthSec && was.BirthNsec == is.BirthNsec
	}
	if same {
		return nil
	}
	return fmt.Errorf("%w: %s is not the file that this node wrote "+
		"(inode %d, born %d.%09d; then inode %d, born %d.%09d); a copy may have forgotten votes: "+
		"start the original, or replace this node; only if the original was stopped before it was copied and "+
		"will never run again: touch %s", ErrCopied, filepath.Join(dir, disk.LogName), is.Inode, is.BirthSec, is.BirthNsec,
		was.Inode, was.BirthSec, was.BirthNsec, shown.Word(filepath.Join(dir, acceptedName)))
}

// locate returns the record of an open log.db.
func locate(f *os.File) (diskRecord, error) {
	d, err := fileBirth(f)
	d.Machine = machineID()
	return d, err
}

// machineID returns the machine's id, or "" where there is none.
func machineID() string {
	b, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(b) > 64 {
		return ""
	}
	return strings.TrimSpace(string(b))
}
