package resp

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
)

// store gives a connection access to the node, as its client. This package reaches the node only through it. A store
// belongs to one connection, and only its goroutine uses it.
type store struct {
	service.Request // what is asked for now
	service         *service.Service
	timeout         time.Duration // of a request, and for this node to find out whether something is allowed
	listing         time.Duration // of a view
	mode            service.Mode  // of reads
	proven          service.Credentials
	who             service.Credentials

	revision uint64 // after the last write, for the audit log
}

// begin makes it the store of a client that has proven to have a certificate, or nothing.
func (s *store) begin(proven service.Credentials) {
	s.proven = proven
	s.forget()
}

// forget makes the client who it was when it connected.
func (s *store) forget() { s.is(s.proven) }

func (s *store) is(who service.Credentials) {
	s.who = who
	s.Identify(who, nil, s.timeout)
}

// login makes the client the holder of the token with that secret. Without such a token the client stays unchanged.
func (s *store) login(secret string) error {
	who := s.proven
	who.Secret = secret
	r := s.Request
	r.Identify(who, nil, s.timeout)
	if err := r.NeedKnown(); err != nil {
		return err
	}
	s.who, s.Request = who, r
	return nil
}

// known returns nil if the client's token, if it has one, has neither been deleted nor expired since the login.
func (s *store) known() error {
	if !s.Decides() || s.who.Secret == "" {
		return nil
	}
	s.Next()
	return s.NeedKnown()
}

// user is what the client is called where Redis has the name of its user.
func (s *store) user() string { return cmp.Or(s.Accessor(), "default") }

// needSome returns nil if the client may read some key that begins with prefix.
func (s *store) needSome(prefix string) error {
	s.Next()
	return s.NeedSomeKey(prefix)
}

// needRead returns nil if the client may read the key.
func (s *store) needRead(key string) error {
	s.Next()
	return s.NeedKey(key)
}

// mayNow decides about steps by this node's present state. Call it when the node has just caught up with the master.
func (s *store) mayNow(steps []kv.Command) error {
	s.Next()
	for i := range steps {
		if err := s.MayWriteHere(&steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// mayWrite decides about a command, as the log will have it.
func (s *store) mayWrite(c *kv.Command) error {
	s.Next()
	return s.MayWrite(c)
}

// Write has the command applied once, if the client may do all of it.
func (s *store) Write(c kv.Command, took *slow.Write) (kv.Result, error) {
	s.Next()
	r, err := s.Request.Write(c, false, took)
	s.revision = r.Revision
	return r, err
}

// GetMany reads keys that the client may read.
func (s *store) GetMany(keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	s.Next()
	return s.Request.GetMany(s.mode, keys, each)
}

// ReadPoint waits until this node has applied every write acknowledged before the call, as its mode requires. It
// reads nothing.
func (s *store) ReadPoint() error {
	_, err := s.Request.ReadPoint(s.mode)
	return err
}

// Revision returns a revision of the store that is at or above every one that a client can know, whatever the mode of
// its reads. This node has applied it. It reads nothing.
func (s *store) Revision() (uint64, error) { return s.Request.ReadPoint(service.Default) }

// left returns about what is left of the time to live of a key that was read.
func (s *store) left(key string, ttl time.Duration) time.Duration {
	if left, runs := s.Remaining(kv.TimedKey, key); runs {
		return left
	}
	return ttl
}

// Snapshot returns a view of the keys that begin with prefix, some of which the client must be allowed to read. The
// caller closes it.
func (s *store) Snapshot(prefix string) (view, error) { return s.snapshotIn(s.mode, prefix) }

func (s *store) snapshotIn(mode service.Mode, prefix string) (view, error) {
	if err := s.needSome(prefix); err != nil {
		return view{}, err
	}
	snapshot, _, err := s.Request.Snapshot(mode)
	if err != nil {
		return view{}, err
	}
	return view{snapshot: snapshot, store: s, began: time.Now(), hides: !s.MayKeys(prefix)}, nil
}

// countedKeys is how many keys are counted for one INFO. Tools ask for it all the time.
const countedKeys = 1 << 14

// countKeys returns the number of keys, as this node has applied them, and of those that expire. The keys of a large
// store are those of a little while ago. known is false for a client that may not read all of them: to count the others
// takes as long as to list them.
func (s *store) countKeys() (keys, expiring int, known bool) {
	v, err := s.snapshotIn(service.Stale, "")
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
		keys, known = s.KeyCount()
	}
	return keys, v.snapshot.Expiring(), known
}

// Status returns the node's view of itself and of the other nodes. It needs no permission, as over HTTP.
func (s *store) Status() api.Status { return s.service.Status() }

// Lease carries out r if the client may write the lease, for as long as it may.
func (s *store) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	s.Next()
	return s.Request.Lease(ctx, r)
}

// ShowLease returns this node's view of a lease, if the client may read it.
func (s *store) ShowLease(name string) (l service.LeaseHint, found bool, err error) {
	s.Next()
	return s.Request.ShowLease(name)
}

// The texts of Redis 7.0, which clients know the beginnings of.
const (
	errNoAuth    = "NOAUTH Authentication required"
	errNoPerm    = "NOPERM this user has no permissions to "
	errWrongPass = "WRONGPASS invalid username-password pair or user is disabled"
)

// deniedText returns the reply to a denied client; ok is false for any other error.
func deniedText(err error) (text string, ok bool) {
	var denied *service.DeniedError
	switch {
	case !service.IsDenied(err):
		return "", false
	case errors.Is(err, service.ErrUnsure):
		return "CLUSTERDOWN not applied: " + err.Error(), true
	case errors.Is(err, service.ErrUnknownToken):
		return errNoAuth + ": the token of this connection was deleted or has expired", true
	}
	errors.As(err, &denied)
	why := ": " + strings.TrimPrefix(err.Error(), api.TextDenied+": ")
	switch {
	case denied.Accessor == api.AnonymousAccessor:
		return errNoAuth + why, true
	case denied.AboutKey():
		return errNoPerm + "access one of the keys used as arguments" + why, true
	}
	return errNoPerm + "run this command" + why, true
}
