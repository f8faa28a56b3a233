package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/storage"
)

// asidePrefix begins the name of what SetAside moves files into; the date and time follow, in UTC.
const asidePrefix = "aside-"

// SetAside moves all files of an unusable data directory into a directory in it, and returns that directory's path. It
// returns "" if there was nothing to move: the files of an earlier attempt to join stay. It refuses a directory in use.
// Unless giveUp is set, it also refuses a directory with which a node could go on: undamaged, and of a member as far as
// it knows.
func SetAside(dir string, giveUp bool, now time.Time) (aside string, err error) {
	if moves, err := mustBeSpent(dir, giveUp); err != nil || !moves {
		return "", err
	}
	name := asidePrefix + now.UTC().Format("20060102-150405")
	for n, first := 2, name; isThere(filepath.Join(dir, name)); n++ { // one of the same second
		name = fmt.Sprintf("%s-%d", first, n)
	}
	moved, err := storage.SetAside(dir, name)
	if !moved || err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// mustBeSpent refuses a directory with which its node can go on, and reports whether it has something to set aside.
func mustBeSpent(dir string, giveUp bool) (moves bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, last)); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	s, err := storage.Open(dir, storage.Options{Offline: true})
	switch {
	case errors.Is(err, storage.ErrInUse):
		return false, err
	case err != nil: // damaged, or of several nodes
		return true, nil
	}
	defer s.Close()
	if s.Verify(context.Background()) != nil { // Open does not read all of a large state
		return true, nil
	}
	switch id := s.Identity(); {
	case !id.Formed:
		return id.Node != 0 || giveUp, nil
	case giveUp || !id.TakesPart():
		return true, nil
	default:
		return false, refuse("%s is whole: it is the data of node %d of cluster %s; start it without rejoin. If that "+
			"cluster is no more, or the node was removed from it, say --give-up", dir, id.Node, id.Cluster)
	}
}

// Former says which node a data directory is or was of, as far as that can be read. The zero Former is nobody.
type Former struct {
	Name       string          // of the node; "" if it was in no cluster, or none is readable
	Cluster    ident.ClusterID // zero if it was in none
	Node       ballot.NodeID
	Membership ident.Membership // the newest that the directory knew
	startedAs  ballot.NodeID
}

// StartedAs returns the number that the operator's command line has for the node.
func (f Former) StartedAs() ballot.NodeID { return cmp.Or(f.startedAs, f.Node) }

// FormerOf returns the node to which dir belongs or belonged. Directories made by SetAside count too: the newest one
// that can be read and was in a cluster. An error says that dir is in use, or cannot be written.
func FormerOf(dir string) (f Former, err error) {
	asides, _ := filepath.Glob(filepath.Join(dir, asidePrefix+"*")) // only a bad pattern is an error
	slices.SortFunc(asides, func(a, b string) int { return strings.Compare(b, a) })
	for _, d := range append([]string{dir}, asides...) {
		id, ok, err := storage.ReadIdentity(d)
		if errors.Is(err, storage.ErrInUse) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
			return Former{}, err
		}
		if err != nil || !ok || id.Node == 0 || f.Node != 0 && !id.Formed {
			continue
		}
		f = Former{Cluster: id.Cluster, Node: id.Node, Membership: id.Membership, startedAs: id.StartedAs}
		if id.Formed {
			f.Name = nameOf(id)
			break
		}
	}
	return f, nil
}

// nameOf returns what the members of its cluster call the node with that identity.
func nameOf(id storage.Identity) string {
	m, _, found := id.Membership.Find(id.Node)
	if !found { // it was removed
		m = ident.Member{Node: id.Node}
	}
	return members.NameOf(m)
}
