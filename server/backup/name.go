package backup

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// File describes a backup as far as its name does, so without reading it.
type File struct {
	Name      string
	Cluster   string // the first 8 digits of the cluster's id
	Made      time.Time
	Revision  uint64
	Encrypted bool
}

const (
	clusterDigits   = 8
	nameTime        = "20060102T150405Z"
	encryptedSuffix = ".age" // target.EncryptedSuffix
)

var namePattern = regexp.MustCompile(`^tenure-([0-9a-f]{8})-([0-9]{8}T[0-9]{6}Z)-r([0-9]{1,20})\.backup(\.age)?$`)

// NameOf returns the name of a backup in a directory or a bucket. The names of one cluster's backups sort by date. The
// name of an encrypted backup has the suffix ".age", which NameOf does not add.
func NameOf(i Info) string {
	return fmt.Sprintf("tenure-%s-%s-r%d.backup",
		i.Cluster.String()[:clusterDigits], i.Made.UTC().Format(nameTime), i.Revision)
}

// ParseName parses a name of NameOf, with or without ".age". It returns false for any other name.
func ParseName(name string) (File, bool) {
	m := namePattern.FindStringSubmatch(name)
	if m == nil {
		return File{}, false
	}
	made, err := time.Parse(nameTime, m[2])
	if err != nil {
		return File{}, false
	}
	revision, err := strconv.ParseUint(m[3], 10, 64)
	if err != nil {
		return File{}, false
	}
	return File{Name: name, Cluster: m[1], Made: made, Revision: revision, Encrypted: m[4] == encryptedSuffix}, true
}
