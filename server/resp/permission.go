package resp

import (
	"context"
	"errors"
	"strings"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/acl"
	"tenure/server/slow"
	"tenure/server/web"
)

// store gives a connection access to the node, after a decision about each request. This package reaches the node only
// through it, so no command can omit the decision. The needs of a write are read off the sent command. A store belongs
// to one connection, and only its goroutine uses it.
type store struct {
	backend Backend
	decider *access.Decider // nil: there are no tokens, so that everything is allowed
	timeout time.Duration   // of a request, and for this node to find out whether something is allowed
	listing time.Duration   // of a view
	mode    web.Mode        // of reads
	proven  access.Credentials
	who     access.Credentials
	request *access.Request // of who, nil without tokens: what is asked for now
	decided bool            // everything that request needs was found allowed, and there is something

	revision uint64 // after the last write, for the audit log
}

// begin makes it the store of a client that has proven to have a certificate, or nothing.
func (s *store) begin(proven access.Credentials) {
	s.proven = proven
	s.forget()
}

// forget makes the client who it was when it connected.
func (s *store) forget() {
	s.who = s.proven
	if s.decider != nil {
		s.request = s.decider.Begin(s.who)
	}
}

// login makes the client the holder of the token with that secret. Without such a token the client stays unchanged.
func (s *store) login(secret string) error {
	who := s.proven
	who.Secret = secret
	r := s.decider.Begin(who)
	if err := r.Known(s.timeout); err != nil {
		return err
	}
	s.who, s.request = who, r
	return nil
}

// known returns nil if the client's token, if it has one, has neither been deleted nor expired since the login.
func (s *store) known() error {
	if s.decider == nil || s.who.Secret == "" {
		return nil
	}
	s.request.Next()
	return s.request.Known(s.timeout)
}

// accessor returns the accessor of the client's token, "" without tokens.
func (s *store) accessor() string {
	if s.request == nil {
		return ""
	}
	return s.request.Accessor()
}

// user is what the client is called where Redis has the name of its user.
func (s *store) user() string {
	if name := s.accessor(); name != "" {
		return name
	}
	return "default"
}

// need is what access.EachNeed calls.
func (s *store) need(p acl.Permission, some bool) error {
	if some {
		return s.request.NeedSome(p, s.timeout)
	}
	return s.request.Need(p, s.timeout)
}

// needSome returns nil if the client may read some key that begins with prefix.
func (s *store) needSome(prefix string) error {
	if s.decider == nil {
		return nil
	}
	s.request.Next()
	return s.request.NeedSome(acl.KeyRead(prefix), s.timeout)
}

// needRead returns nil if the client may read the key.
func (s *store) needRead(key string) error {
	if s.decider == nil {
		return nil
	}
	s.request.Next()
	return s.request.Need(acl.KeyRead(key), s.timeout)
}

// may reports whether the client is allowed p too. Something must have been decided before.
func (s *store) may(p acl.Permission) bool { return s.request == nil || s.request.May(p) }

// mayNow decides about steps by this node's present state. Call it when the node has just caught up with the master.
func (s *store) mayNow(steps []kv.Command) error {
	s.request.Next()
	for i := range steps {
		if err := access.EachNeed(&steps[i], s.request.NeedHere); err != nil {
			return err
		}
	}
	return nil
}

// mayWrite decides about a command, as the log will have it.
func (s *store) mayWrite(c *kv.Command) error {
	s.request.Next()
	err := access.EachNeed(c, s.need)
	s.decided = err == nil && s.request.Needs() > 0
	return err
}

// Write has the command applied once, if the client may do all of it.
func (s *store) Write(c kv.Command, took *slow.Write) (kv.Result, error) {
	if s.decider != nil {
		if err := s.mayWrite(&c); err != nil {
			return kv.Result{}, err
		}
	}
	r, err := s.send(c, took)
	s.revision = r.Revision
	return r, err
}

// send sends a command after its decision.
func (s *store) send(c kv.Command, took *slow.Write) (kv.Result, error) {
	if s.decider == nil {
		return s.backend.Write(s.timeout, c, took)
	}
	if !s.decided {
		panic("resp: a command is sent without a decision whether it is allowed")
	}
	s.decided = false
	w := web.Sending{To: s.backend, Request: s.request, Timeout: s.timeout, Took: took}
	return w.Send(c)
}

// GetMany reads keys that the client may read. The entries may be newer than the decision, so it decides again after
// the read. After an error each may have been called with entries that the client must not get.
func (s *store) GetMany(keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	if s.decider == nil {
		return s.backend.GetMany(s.timeout, s.mode, keys, each)
	}
	s.request.Next()
	for _, k := range keys {
		if err := s.request.Need(acl.KeyRead(k), s.timeout); err != nil {
			return 0, err
		}
	}
	revision, err := s.backend.GetMany(s.timeout, s.mode, keys, each)
	if err != nil {
		return 0, err
	}
	return revision, s.request.Again()
}

// ReadPoint waits until this node has applied every write acknowledged before the call, as its mode requires. It
// reads nothing.
func (s *store) ReadPoint() error {
	_, err := s.backend.GetMany(s.timeout, s.mode, []string{anyKey}, func(int, kv.Entry) bool { return true })
	return err
}

// Revision returns a revision of the store that is at or above every one that a client can know, whatever the mode of
// its reads. This node has applied it. It reads nothing.
func (s *store) Revision() (uint64, error) {
	return s.backend.GetMany(s.timeout, web.Default, []string{anyKey}, func(int, kv.Entry) bool { return true })
}

// anyKey is read where only the moment of reading matters.
const anyKey = "-"

// Remaining returns about how long the time of a key that was read has left.
func (s *store) Remaining(key string) (time.Duration, bool) {
	return s.backend.Remaining(kv.TimedKey, key)
}

// left returns about what is left of the time to live of a key that was read.
func (s *store) left(key string, ttl time.Duration) time.Duration {
	if left, runs := s.Remaining(key); runs {
		return left
	}
	return ttl
}

// Snapshot returns a view of the keys that begin with prefix, some of which the client must be allowed to read. The
// caller closes it.
func (s *store) Snapshot(prefix string) (view, error) { return s.snapshotIn(s.mode, prefix) }

func (s *store) snapshotIn(mode web.Mode, prefix string) (view, error) {
	if err := s.needSome(prefix); err != nil {
		return view{}, err
	}
	snapshot, _, err := s.backend.Snapshot(s.timeout, mode)
	if err != nil {
		return view{}, err
	}
	v := view{snapshot: snapshot, store: s, began: time.Now()}
	if s.decider == nil {
		return v, nil
	}
	if err := s.request.Again(); err != nil {
		snapshot.Close()
		return view{}, err
	}
	v.hides = !s.may(acl.KeyReadPrefix(prefix))
	return v, nil
}

// countedKeys is how many keys are counted for one INFO. Tools ask for it all the time.
const countedKeys = 1 << 14

// countKeys returns the number of keys, as this node has applied them, and of those that expire. The keys of a large
// store are those of a little while ago. known is false for a client that may not read all of them: to count the others
// takes as long as to list them.
func (s *store) countKeys() (keys, expiring int, known bool) {
	v, err := s.snapshotIn(web.Stale, "")
	if err != nil {
		return 0, 0, false
	}
	defer v.snapshot.Close()
	if v.hides {
		return 0, 0, false
	}
	keys, err = v.Count(kv.Range{Limit: countedKeys})
	known = err == nil
	if keys == countedKeys {
		keys, known = s.backend.KeyCount()
	}
	return keys, v.snapshot.Expiring(), known
}

// Status returns the node's view of itself and of the other nodes. It needs no permission, as over HTTP.
func (s *store) Status() api.Status { return s.backend.Status() }

// Lease carries out r if the client may write the lease, for as long as it may.
func (s *store) Lease(ctx context.Context, r web.LeaseCommand) (web.LeaseGrant, error) {
	if s.decider == nil {
		return s.backend.Lease(ctx, r)
	}
	s.request.Next()
	if err := s.request.Need(acl.LeaseWrite(r.Name), s.timeout); err != nil {
		return web.LeaseGrant{}, err
	}
	ctx, done := s.request.While(ctx)
	g, err := s.backend.Lease(ctx, r)
	if denied := done(); denied != nil && err != nil {
		err = denied
	}
	return g, err
}

// ShowLease returns this node's view of a lease, if the client may read it.
func (s *store) ShowLease(name string) (l web.LeaseHint, found bool, err error) {
	if s.decider != nil {
		s.request.Next()
		if err := s.request.Need(acl.LeaseRead(name), s.timeout); err != nil {
			return l, false, err
		}
	}
	l, found = s.backend.ShowLease(name)
	return l, found, nil
}

// isDenied reports whether err is a denial, or says that the decision could not be made.
func isDenied(err error) bool {
	var denied *access.DeniedError
	return errors.As(err, &denied) || errors.Is(err, access.ErrUnknownToken) || errors.Is(err, access.ErrUnsure)
}

// The texts of Redis 7.0, which clients know the beginnings of.
const (
	errNoAuth    = "NOAUTH Authentication required"
	errNoPerm    = "NOPERM this user has no permissions to "
	errWrongPass = "WRONGPASS invalid username-password pair or user is disabled"
)

// deniedText returns the reply to a denied client; ok is false for any other error.
func deniedText(err error) (text string, ok bool) {
	var denied *access.DeniedError
	switch {
	case errors.Is(err, access.ErrUnsure):
		return "CLUSTERDOWN not applied: " + err.Error(), true
	case errors.Is(err, access.ErrUnknownToken):
		return errNoAuth + ": the token of this connection was deleted or has expired", true
	case !errors.As(err, &denied):
		return "", false
	}
	why := ": " + strings.TrimPrefix(err.Error(), api.TextDenied+": ")
	switch {
	case denied.Accessor == api.AnonymousAccessor:
		return errNoAuth + why, true
	case denied.Missing.Kind == acl.Key:
		return errNoPerm + "access one of the keys used as arguments" + why, true
	}
	return errNoPerm + "run this command" + why, true
}
