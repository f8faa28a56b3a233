package backup

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// File is a backup as far as its name tells: what can be known of it without reading it.
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

// NameOf returns the name of a backup that is kept among others. Names of one cluster's backups are in the order of
// their dates. ".age" follows that of one that is encrypted.
func NameOf(i Info) string {
	return fmt.Sprintf("tenure-%s-%s-r%d.backup",
		i.Cluster.String()[:clusterDigits], i.Made.UTC().Format(nameTime), i.Revision)
}

// ParseName returns what a name tells that NameOf has made, and false for any other.
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
