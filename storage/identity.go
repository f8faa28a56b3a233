package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
)

// Identity says which node's disk this is. It is plain data; the lists of Membership are shared and never changed.
type Identity struct {
	Store      ident.StoreID    // random, of this directory for ever
	Node       ballot.NodeID    // 0 until SetNode or Join
	Cluster    ident.ClusterID  // zero until Found or Join
	Membership ident.Membership // the newest that is durable
	// Bootstrap is the membership that the bootstrap wrote, zero in a store that has joined later. It decides the slots
	// below the first change of the members.
	Bootstrap ident.Membership
	Formed    bool // Found or Join has been called, in this run or an earlier one
	// StartedAs is this node's number on the operator's command line: that of the member whose place the store took
	// when it joined; 0 if it took no member's place. It only decides how that command line is read.
	StartedAs ballot.NodeID
}

// TakesPart reports whether the durable membership lists this node with this store: only then may it, in both layers.
func (i Identity) TakesPart() bool { return i.Formed && i.Membership.Lists(i.Node, i.Store) }

// Node is what log.db holds of the node itself: its identity, its start record, and where the file lay. It is safe for
// concurrent use.
type Node struct {
	failure  *disk.Failure
	files    disk.Files
	log      *acceptor.Log // which writes log.db
	mu       sync.Mutex    // held while a record is changed; taken before those of log
	identity atomic.Pointer[identityRecord]
	start    atomic.Pointer[startRecord]
	disk     diskRecord // under mu
}

// nodeContent is what a reading of log.db finds of the node.
type nodeContent struct {
	identity identityRecord
	start    startRecord
	disk     diskRecord
}

// records returns the records of log.db that c consists of.
func (c *nodeContent) records() []acceptor.NodeRecord {
	return []acceptor.NodeRecord{{Key: identityKey, Value: &c.identity}, {Key: startKey, Value: &c.start},
		{Key: diskKey, Value: &c.disk}}
}

// check returns an error if the records are not those of a node.
func (c *nodeContent) check() error {
	if c.identity.Store.IsZero() {
		return errors.New("its identity names no store")
	}
	return nil
}

// load takes what was read from log.db.
func (s *Node) load(c *nodeContent) {
	s.disk = c.disk
	s.identity.Store(&c.identity)
	s.start.Store(&c.start)
}

// Identity returns what is durable.
func (s *Node) Identity() Identity { return s.identity.Load().public() }

func (r *identityRecord) public() Identity {
	return Identity{Store: r.Store, Node: r.Node, Cluster: r.Cluster, Membership: r.Membership, Bootstrap: r.bootstrap(),
		Formed: !r.Cluster.IsZero(), StartedAs: r.StartedAs}
}

// SetNode binds the directory to a node id, durably, the first time; later it refuses any other id with ErrOtherNode.
func (s *Node) SetNode(id ballot.NodeID) error {
	return s.changeIdentity("bind the directory to its node", func(next *identityRecord) (changed bool, err error) {
		switch {
		case id == 0 || id > ballot.MaxNodeID:
			return false, fmt.Errorf("%w: node id %d; choose one from 1 to %d", ErrRefused, id, ballot.MaxNodeID)
		case next.Node == id:
			return false, nil
		case next.Node != 0:
			return false, fmt.Errorf("%w: %s belongs to node %d and was opened as node %d; give node %d its own directory",
				ErrOtherNode, s.files.Dir, next.Node, id, id)
		}
		next.Node = id
		return true, nil
	})
}

// Found accepts a bootstrap, durably and once: membership 1 must list this node, set before, with this store. A second
// call, whatever it says, gets ErrFormed.
func (s *Node) Found(cluster ident.ClusterID, m ident.Membership) error {
	return s.changeIdentity("accept the bootstrap", func(next *identityRecord) (changed bool, err error) {
		if !next.Cluster.IsZero() {
			return false, fmt.Errorf("%w: %s is of cluster %s, membership %s; it accepts no other bootstrap",
				ErrFormed, s.files.Dir, next.Cluster, next.Membership)
		}
		if cluster.IsZero() || m.Number != 1 || !m.Lists(next.Node, next.Store) || next.Node == 0 {
			return false, fmt.Errorf("%w: bootstrap of cluster %s with membership %s does not name node %d with store %s; "+
				"start all nodes with the same list and their own directories",
				ErrRefused, cluster, m, next.Node, next.Store)
		}
		if err := checkMembership(m); err != nil {
			return false, err
		}
		next.Cluster, next.Membership = cluster, m.Clone()
		return true, nil
	})
}

// Quarantine is how long a restarted acceptor stays silent, for each class of leases (A4).
type Quarantine struct {
	Master time.Duration // the `master` lease
	User   time.Duration // named leases
}

// covers reports whether q is at least as long as o in every class.
func (q Quarantine) covers(o Quarantine) bool { return q.Master >= o.Master && q.User >= o.User }

// StartRecord is what a run writes before it says anything to anybody.
type StartRecord struct {
	Restart    uint64     // grows with every run; 0 in a new store
	Quarantine Quarantine // what an acceptor of the next run owes at least
	// Bucket is the length of leases that Quarantine.User stands for (N4). 0: no run has written one, as in the
	// directories of older versions.
	Bucket time.Duration
	// Longest is the quarantine for the longest named lease of the cluster, the largest that any run wrote. Other
	// members may have granted such leases, so a cluster made of this directory alone has to wait it out.
	Longest time.Duration
}

// StartRecord returns what is durable.
func (s *Node) StartRecord() StartRecord { return s.start.Load().public() }

func (r *startRecord) public() StartRecord {
	return StartRecord{Restart: r.Restart, Quarantine: Quarantine{Master: r.Master, User: r.User}, Bucket: r.Bucket,
		Longest: r.Longest}
}

// Start writes the start record of this run (A4), with the stored Longest if that is longer. It refuses a restart
// counter that does not grow, and a quarantine that is shorter than the stored one. LowerQuarantine and SetBucket
// shorten it, once the silence has passed.
func (s *Node) Start(next StartRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	was := s.StartRecord()
	if next.Restart <= was.Restart || !next.Quarantine.covers(was.Quarantine) {
		return fmt.Errorf("%w: start record %+v after %+v: the restart counter must grow and no quarantine may shrink",
			ErrRefused, next, was)
	}
	is, err := locate(s.log.File())
	if err != nil {
		return s.failure.Fail(fmt.Errorf("%s: look at the file: %w", s.files.LogPath(), err))
	}
	s.disk = is
	record := &startRecord{
		Restart: next.Restart, Master: next.Quarantine.Master, User: next.Quarantine.User, Bucket: next.Bucket,
		Longest: max(next.Longest, was.Longest),
	}
	err = s.log.PutNode("write the start record", acceptor.NodeRecord{Key: diskKey, Value: &s.disk},
		acceptor.NodeRecord{Key: startKey, Value: record})
	if err != nil {
		return err
	}
	s.start.Store(record)
	return nil
}

// LowerQuarantine is A4's second write for the `master` lease, made when the silence that the start record asked for
// has passed: the record then holds what this run itself may owe. It refuses to raise it. Named leases have SetBucket.
func (s *Node) LowerQuarantine(master time.Duration) error {
	return s.changeStart("lower the quarantine", func(r *startRecord) error {
		if master < 0 || master > r.Master {
			return fmt.Errorf("%w: quarantine of `master` %v after %v: it can only be lowered here",
				ErrRefused, master, r.Master)
		}
		r.Master = master
		return nil
	})
}

// SetBucket is N4: it writes the bucket of the named leases that this node may have accepted. The quarantine that the
// next run owes for the bucket replaces Quarantine.User. A longer bucket must be durable before the acceptor accepts
// such a lease. The caller decides whether a shorter one is due.
func (s *Node) SetBucket(length, quarantine time.Duration) error {
	return s.changeStart("set the bucket of named leases", func(r *startRecord) error {
		if length <= 0 || quarantine <= 0 {
			return fmt.Errorf("%w: a bucket of %v with a quarantine of %v", ErrRefused, length, quarantine)
		}
		r.Bucket, r.User = length, quarantine
		return nil
	})
}

// changeStart changes the start record of this run. fn gets a copy of it.
func (s *Node) changeStart(what string, fn func(*startRecord) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	record := *s.start.Load()
	if err := fn(&record); err != nil {
		return err
	}
	if err := s.log.PutNode(what, acceptor.NodeRecord{Key: startKey, Value: &record}); err != nil {
		return err
	}
	s.start.Store(&record)
	return nil
}

// changeIdentity changes the identity, durably. fn gets a copy of it, and reports whether it has changed that.
func (s *Node) changeIdentity(what string, fn func(next *identityRecord) (changed bool, err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	next := *s.identity.Load()
	if changed, err := fn(&next); err != nil || !changed {
		return err
	}
	if err := s.log.PutNode(what, acceptor.NodeRecord{Key: identityKey, Value: &next}); err != nil {
		return err
	}
	s.identity.Store(&next)
	return nil
}

// acceptCopy records a new place because an operator asked for it, and takes the request away. It returns a
// note about it.
func (s *Node) acceptCopy(is diskRecord) (note string, err error) {
	s.disk = is
	place := acceptor.NodeRecord{Key: diskKey, Value: &s.disk}
	if err := s.log.PutNode("record the new place of the directory", place); err != nil {
		return "", err
	}
	path := filepath.Join(s.files.Dir, acceptedName)
	if err := os.Remove(path); err != nil {
		return "", disk.Unusable("cannot remove %s: %w; remove it yourself", path, disk.Plain(err))
	}
	return fmt.Sprintf("%s asked for it: this directory is now taken for the original", path), nil
}
