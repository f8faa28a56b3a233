package recovery

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/recovery/merge"
	"tenure/server/replica"
	"tenure/storage"
)

// ErrRefused is wrapped by errors that another choice of directories, or another plan, mends. Nothing was changed.
var ErrRefused = errors.New("recovery refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// survivor is what one node has left.
type survivor struct {
	dir      string
	store    *storage.Store
	identity storage.Identity
	state    uint64 // slot of the state database
	revision uint64
	eras     uint64
	record   members.Record // as of that slot
}

// survivors are open, each under its lock.
type survivors []*survivor

// openSurvivors opens the directories, which must be those of different nodes of one cluster. None of them is changed.
func openSurvivors(dirs []string) (all survivors, err error) {
	defer func() {
		if err != nil {
			all.close()
		}
	}()
	if len(dirs) == 0 {
		return nil, refuse("name the data directory of each node that is left")
	}
	for i, dir := range dirs {
		if o := sameAs(dir, dirs[:i]); o != "" {
			return all, refuse("%s and %s are the same directory; name each one once", o, dir)
		}
		s, err := openSurvivor(dir)
		if err != nil {
			return all, err
		}
		all = append(all, s)
		for _, o := range all[:len(all)-1] {
			switch {
			case o.identity.Cluster != s.identity.Cluster:
				return all, refuse("%s is of cluster %s, and %s of cluster %s; give the directories of one of them", o.dir,
					o.identity.Cluster, s.dir, s.identity.Cluster)
			case o.identity.Node == s.identity.Node:
				return all, refuse("%s and %s are both of node %d; give the newer one, or the one that is no copy", o.dir, s.dir,
					s.identity.Node)
			}
		}
	}
	return all, nil
}

// sameAs returns which of others is the directory dir, "" if none is.
func sameAs(dir string, others []string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	for _, o := range others {
		if x, err := os.Stat(o); err == nil && os.SameFile(info, x) {
			return o
		}
	}
	return ""
}

func openSurvivor(dir string) (*survivor, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	store, err := storage.Open(abs, storage.Options{Offline: true})
	switch {
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return nil, refuse("%w. A copy of the directory at a place where it can be written will do", err)
	case errors.Is(err, storage.ErrUnusable), errors.Is(err, storage.ErrInUse):
		return nil, notExamined{err}
	case err != nil:
		return nil, err
	}
	s := &survivor{dir: abs, store: store, identity: store.Identity()}
	if err := s.read(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// read reads the tables of the state database.
func (s *survivor) read() error {
	if !s.identity.Formed {
		return refuse("%s has never been in a cluster", s.dir)
	}
	state, err := kv.Open(s.store, kv.DefaultLimits)
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	s.state, s.revision, s.eras = state.Applied(), state.Revision(), state.Eras()
	s.record, err = recordOf(state.Members(), s.identity)
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	return nil
}

// source returns the records of the state database.
func (s *survivor) source() (source, error) {
	slot, meta, err := s.store.Loaded()
	return source{slot: slot, meta: meta, each: func(fn func(kv.Change) error) error {
		view, err := s.store.View()
		if err != nil {
			return err
		}
		defer view.Close()
		for kind := range 256 { // all that there can be, also of later versions
			var failed error
			err := view.Ascend(kv.RecordKind(kind), nil, func(key, value []byte) bool {
				failed = fn(kv.Change{Kind: kv.RecordKind(kind), Key: key, Value: value})
				return failed == nil
			})
			if err := cmp.Or(err, failed); err != nil {
				return err
			}
		}
		return nil
	}}, err
}

// recordOf returns the members as a state database has them. If no entry up to its slot has changed the members, they
// are those of the bootstrap. A joined node without a state knows only the membership at its join.
func recordOf(record []byte, id storage.Identity) (members.Record, error) {
	switch {
	case record != nil:
		return members.Decode(record)
	case id.Bootstrap.Number != 0:
		return members.First(id.Bootstrap), nil
	}
	return members.First(id.Membership), nil
}

// nextNode returns an id that no member had which the survivors know of.
func (all survivors) nextNode() (id ballot.NodeID) {
	for _, s := range all {
		id = max(id, s.record.NextNode, members.First(s.identity.Membership).NextNode)
	}
	return id
}

// votersOf returns the voters that an entry of the log brings.
func votersOf(value []byte) (quorum.Set, bool) {
	_, b, err := replica.Content(multipaxos.Entry{Value: value})
	if err != nil || b == nil {
		return quorum.Set{}, false
	}
	r, err := members.Decode(b)
	return r.Membership.Voters(), err == nil
}

// config is what merge.Merge needs.
func (all survivors) config() merge.Config {
	c := merge.Config{VotersOf: votersOf}
	newest := all[0]
	for _, s := range all {
		c.Survivors = append(c.Survivors, merge.Survivor{Name: s.dir, Node: s.identity.Node, State: multipaxos.Slot(s.state),
			Durable: s.store.Durable(), Log: s.store})
		if s.state > newest.state {
			newest = s
		}
	}
	c.Voters = newest.record.Membership.Voters()
	return c
}

func (all survivors) close() {
	for _, s := range all {
		_ = s.store.Close() // nothing was written
	}
}
