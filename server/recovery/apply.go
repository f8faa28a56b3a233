package recovery

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/lostfound"
	"tenure/internal/ownfile"
	"tenure/server/members"
	"tenure/server/recovery/merge"
	"tenure/storage"
)

// Result is the cluster that Apply has made.
type Result struct {
	Dir      string
	Node     ballot.NodeID // its only voter
	Cluster  ident.ClusterID
	Revision uint64
}

const (
	unfinished = "recovering" // where the files are made, inside of their directory
	last       = "log.db"     // the file that makes them a node's
)

// Apply makes dir, which must not be there or be empty, the data directory of a new cluster's only voter, whole or not
// at all. The survivors' directories stay as they are. It refuses a plan that does not fit them any more, and one that
// was not confirmed in its own words.
func Apply(p Plan, dir, confirmed string) (Result, error) {
	if confirmed != p.Confirm || p.Confirm != p.confirmation() {
		return Result{}, refuse("to apply this plan is to give up %s; confirm it in these words", p.confirmation())
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Result{}, err
	}
	if err := mustBeEmpty(dir); err != nil {
		return Result{}, err
	}
	var dirs []string
	for _, s := range p.Survivors {
		dirs = append(dirs, s.Dir)
	}
	all, err := openSurvivors(dirs)
	if err != nil {
		return Result{}, err
	}
	defer all.close()
	now, err := all.plan()
	if err != nil {
		return Result{}, err
	}
	if !reflect.DeepEqual(p.plain(), now.plain()) {
		return Result{}, refuse("the directories hold something else than the plan says: a node has run since; stop " +
			"all of them and make a new plan")
	}
	return whole(dir, all.makeIn)
}

// plain returns p without what does not matter to whether it still fits.
func (p Plan) plain() Plan {
	p.Touched = nil
	for _, list := range []*[]ballot.NodeID{&p.Voters, &p.Gone} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return p
}

// mustBeEmpty refuses a directory of another user, and one with anything in it but what an Apply or a Restore that was
// interrupted has left. If the interrupted one had begun to move its files, a person must remove them: nothing here
// tells them from other files.
func mustBeEmpty(dir string) error {
	if err := ownfile.CheckDir(dir); err != nil {
		return refuse("%w", err)
	}
	files, err := lostfound.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case len(files) > 1 && has(files, unfinished) && !has(files, last):
		return refuse("%s has what was left when the making of its files was interrupted; remove everything in it, "+
			"or name a new one with --data", dir)
	case len(files) > 1 || len(files) == 1 && files[0].Name() != unfinished:
		return refuse("%s is not empty; name a new directory with --data: nothing that is there is changed", dir)
	}
	return nil
}

// Finished returns an error that wraps ErrRefused if a restore or a recovery into dir was interrupted: a node started
// there would begin empty.
func Finished(dir string) error {
	files, err := lostfound.ReadDir(dir)
	if err != nil {
		return nil // what is wrong with dir is for whoever uses it
	}
	if !has(files, unfinished) || has(files, last) {
		return nil
	}
	todo := "run it again with --data " + dir
	if len(files) > 1 {
		todo = "remove everything in it, and run it again"
	}
	return refuse("%s has half of a restore or a recovery that was interrupted: %s", dir, todo)
}

func has(files []fs.DirEntry, name string) bool {
	return slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == name })
}

// whole has makeIn make the files in a directory inside dir, since dir may be a mount point. Then it moves them to
// their place. log.db comes last: without it no node starts on the other files. A lock keeps any other Apply or Restore
// out meanwhile. If makeIn fails, whole removes all new files and directories.
func whole(dir string, makeIn func(dir string) (Result, error)) (Result, error) {
	made := absent(dir)
	lock, err := alone(dir)
	if err != nil {
		return Result{}, err
	}
	defer lock.Close() // whatever was written is durable by then
	tmp := filepath.Join(dir, unfinished)
	if err := os.RemoveAll(tmp); err != nil {
		return Result{}, err
	}
	r, err := makeIn(tmp)
	if err != nil {
		err = errors.Join(err, os.RemoveAll(tmp))
		for _, d := range made {
			_ = os.Remove(d) // which refuses one that is not empty
		}
		return Result{}, err
	}
	r.Dir = dir
	files, err := os.ReadDir(tmp)
	if err != nil {
		return r, err
	}
	for _, f := range files {
		if f.Name() != last {
			err = errors.Join(err, os.Rename(filepath.Join(tmp, f.Name()), filepath.Join(dir, f.Name())))
		}
	}
	if err := errors.Join(err, sync(dir)); err != nil {
		return r, err
	}
	err = os.Rename(filepath.Join(tmp, last), filepath.Join(dir, last))
	return r, errors.Join(err, sync(dir), os.Remove(tmp))
}

// absent returns dir and the directories above it that are not there, the lowest first.
func absent(dir string) (all []string) {
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		all = append(all, d)
	}
	return all
}

// sync makes the names in dir durable.
func sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (all survivors) makeIn(dir string) (Result, error) {
	c := all.config()
	out, err := merge.Merge(c, func(merge.Slot) error { return nil })
	if err != nil {
		return Result{}, err
	}
	base := all[out.Base]
	return newCluster(dir, base.identity.Node, all.startRecord(), func(b *rebuild) error {
		b.nextNode = all.nextNode()
		if err := b.copyState(base.source()); err != nil {
			return err
		}
		b.follow(base.record)
		_, err := merge.Merge(c, b.apply)
		return err
	})
}

// newCluster makes dir the data directory of node, the only voter of a new cluster, with the state that fill makes.
func newCluster(dir string, node ballot.NodeID, start storage.StartRecord, fill func(*rebuild) error) (r Result, err error) {
	to, err := storage.Open(dir, storage.Options{FailWithoutSpace: true})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return r, err
	}
	if _, err := rand.Read(r.Cluster[:]); err != nil {
		return r, err
	}
	r.Node = node
	b := &rebuild{to: to, ballot: ballot.Ballot{Counter: 1, Restart: start.Restart, Node: node,
		Nonce: binary.BigEndian.Uint64(seed[:])}}
	if err := fill(b); err != nil {
		return r, err
	}
	made := time.Now()
	m, err := b.finish(made)
	if err != nil {
		return r, err
	}
	r.Revision = b.state.Revision()
	time.Sleep(untilNextEra(made, time.Now())) // so that the next one begins above it
	return r, errors.Join(to.Join(r.Cluster, r.Node, m), to.Start(start))
}

// restart returns a number of restarts that none of the nodes has reached.
func (all survivors) restart() (n uint64) {
	for _, s := range all {
		n = max(n, s.store.StartRecord().Restart)
	}
	return n + 1
}

// startRecord returns a start record that the first run of the new cluster takes for that of its previous run. By A4
// that run waits out the longest lease that the survivors, or the nodes that are gone, may have granted. The record
// notes no bucket, so the run also waits out the longest lease that the node's own settings allow (N4).
func (all survivors) startRecord() storage.StartRecord {
	r := storage.StartRecord{Restart: all.restart()}
	for _, s := range all {
		was := s.store.StartRecord()
		r.Quarantine.Master = max(r.Quarantine.Master, was.Quarantine.Master)
		r.Quarantine.User = max(r.Quarantine.User, was.Quarantine.User, was.Longest)
	}
	return r
}

// recordOfOne returns the record of a voter alone that comes after was. Removed members stay out of the new cluster,
// too.
func recordOfOne(self ident.Member, was *members.Record, nextNode ballot.NodeID, era uint32) members.Record {
	m := ident.Membership{Number: was.Membership.Number + 1, Change: was.Membership.Change + 1,
		Members: []ident.Member{self}, Era: era}
	r := members.Record{Membership: m, Settled: m.Number, NextNode: nextNode}
	for _, name := range was.Removed {
		if name != members.NameOf(self) {
			r.Removed = append(r.Removed, name)
		}
	}
	return r
}
