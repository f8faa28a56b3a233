package client

import (
	"context"
	"sync"
	"time"

	"tenure/api"
)

// baseMaxAge is how old the newest revision of the store may be when a write begins. It must be well below the time in
// which a busy cluster forgets an idempotency key, or the first write of an idle client is "too old".
const baseMaxAge = time.Second

// revisionSeen is what a client knows of the store's revision. The bases of its writes come from here.
type revisionSeen struct {
	mu       sync.Mutex
	revision uint64    // the highest one in any answer
	at       time.Time // when a node last sent the revision of the store, rather than that of an entry
}

// observe takes the revisions from an answer.
func (r *revisionSeen) observe(a answer) {
	store, entry := a.number(api.HeaderRevision), a.number(api.HeaderIndex)
	r.mu.Lock()
	defer r.mu.Unlock()
	// The index of a read is never 0, so 1 may stand for nothing at all.
	if entry > 1 {
		r.revision = max(r.revision, entry)
	}
	if store > 0 {
		r.revision = max(r.revision, store)
		r.at = time.Now()
	}
}

// observeStatus takes the revision from a status.
func (r *revisionSeen) observeStatus(revision uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision, r.at = max(r.revision, revision), time.Now()
}

// forget forgets the revisions. Another cluster at the same addresses (a new one, or a restored backup) counts its own,
// and refuses bases that it never reached.
func (r *revisionSeen) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision, r.at = 0, time.Time{}
}

// startOver reports whether a's store refused a write because it has not reached the write's base: another store has
// taken the place of the store that this client has seen. The base must not be from an earlier run. If so, startOver
// forgets the old store's revisions and continues from the revision in a.
func (r *revisionSeen) startOver(a answer, base uint64) bool {
	store := a.number(api.HeaderRevision)
	if store == 0 || store >= base || api.Code(a.header.Get(api.HeaderError)) != api.CodeInvalid {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision, r.at = store, time.Now()
	return true
}

// newest returns the highest revision seen, and whether it is fresh enough for a base.
func (r *revisionSeen) newest() (revision uint64, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision, !r.at.IsZero() && time.Since(r.at) <= baseMaxAge
}

// maxBaseLag is how many slots a non-voter may lag and be asked for a base: one that joins is far behind.
const maxBaseLag = 1000

// knowsRevision reports whether the node of st can be asked for the base of a write. A node that takes no part may know
// nothing: its role is RoleNone, or, in the version before this one, RoleNonVoter with a problem.
func knowsRevision(st Status) bool {
	switch st.Role {
	case api.RoleNone:
		return false
	case api.RoleNonVoter:
		return st.Problem == "" && st.Snapshot == nil && st.Applied+maxBaseLag >= st.Chosen
	}
	return true
}

// base returns a revision that this client has seen and that the cluster should still remember: from the newest
// answers, or else from the status of a node. A voter whose disk is full is used, because the write may be a delete that
// frees space.
func (s *sender) base(ctx context.Context) (uint64, error) {
	if revision, fresh := s.revision.newest(); fresh {
		return revision, nil
	}
	_, err := s.status(ctx, knowsRevision)
	if err != nil {
		return 0, err
	}
	revision, _ := s.revision.newest()
	return revision, nil
}
