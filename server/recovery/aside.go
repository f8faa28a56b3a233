package recovery

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/storage"
)

// asidePrefix begins the name of what SetAside moves files into; the date and time follow, in UTC.
const asidePrefix = "aside-"

// SetAside moves all files of a data directory that cannot be used any more into a directory in it, and returns its
// name, "" if there was nothing to move. It refuses one that is in use, and, unless giveUp is set, one with which a node
// could go on: whole, and of a member as far as it knows.
func SetAside(dir string, giveUp bool, now time.Time) (aside string, err error) {
	if !giveUp {
		if err := mustBeSpent(dir); err != nil {
			return "", err
		}
	}
	name := asidePrefix + now.UTC().Format("20060102-150405")
	moved, err := storage.SetAside(dir, name)
	if !moved || err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// mustBeSpent refuses a directory with which its node can go on.
func mustBeSpent(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, last)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s, err := storage.Open(dir, storage.Options{Offline: true})
	switch {
	case errors.Is(err, storage.ErrInUse):
		return err
	case err != nil: // damaged, or of several nodes
		return nil
	}
	defer s.Close()
	id := s.Identity()
	if !id.TakesPart() {
		return nil
	}
	return refuse("%s is whole: it is the data of node %d of cluster %s; start it without rejoin. If that cluster is no "+
		"more, or the node was removed from it, say --give-up", dir, id.Node, id.Cluster)
}

// NameOf returns the name of the node whose data directory dir is or was: what SetAside has moved counts too. "" if that
// cannot be read.
func NameOf(dir string) string {
	asides, _ := filepath.Glob(filepath.Join(dir, asidePrefix+"*")) // only a bad pattern is an error
	slices.SortFunc(asides, func(a, b string) int { return strings.Compare(b, a) })
	for _, d := range append([]string{dir}, asides...) {
		id, ok, err := storage.ReadIdentity(d)
		if err != nil || !ok || id.Node == 0 {
			continue
		}
		m, _, found := id.Membership.Find(id.Node)
		if !found {
			m = ident.Member{Node: id.Node}
		}
		return members.NameOf(m)
	}
	return ""
}
