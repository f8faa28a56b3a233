package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"tenure/api"
)

// Behavior is what happens to the keys that a session has locked when it ends.
type Behavior string

// The behaviors.
const (
	ReleaseKeys Behavior = api.BehaviorRelease // they are unlocked; the default
	DeleteKeys  Behavior = api.BehaviorDelete  // they are deleted
)

// NoLockDelay, as SessionOptions.LockDelay, lets a lock of a session that has ended be acquired at once.
const NoLockDelay = time.Duration(-1)

// SessionOptions says what a session is to be like. The zero value has the cluster's defaults.
type SessionOptions struct {
	Name string
	Node string // what SessionsOf looks for; "": the cluster node that creates the session
	// TTL is how long the session lives without being renewed, by default from 10 s to 24 h. 0: until it is destroyed
	// (StartSession: DefaultSessionTTL).
	TTL time.Duration
	// LockDelay is for how long nobody acquires what the session held when it ended, other than by releasing it: its
	// holder may not know yet. 0: 15 s; NoLockDelay: none; at most 60 s.
	LockDelay time.Duration
	Behavior  Behavior // "": ReleaseKeys
	Once      Once     // as in WriteOptions (CreateSession only)
}

// Session is a session as the cluster knows it.
type Session struct {
	ID          string
	Name        string
	Node        string
	TTL         time.Duration // 0: it ends only when destroyed
	LockDelay   time.Duration
	Behavior    Behavior
	CreateIndex uint64
	ModifyIndex uint64
}

func decodeSessions(body []byte) ([]Session, error) {
	var wire []api.Session
	if json.Unmarshal(body, &wire) != nil {
		return nil, errNotUnderstood
	}
	out := make([]Session, len(wire))
	for i, w := range wire {
		out[i] = Session{
			ID: w.ID, Name: w.Name, Node: w.Node, LockDelay: time.Duration(w.LockDelay), Behavior: Behavior(w.Behavior),
			CreateIndex: w.CreateIndex, ModifyIndex: w.ModifyIndex,
		}
		if w.TTL == "" {
			continue
		}
		var err error
		if out[i].TTL, err = time.ParseDuration(w.TTL); err != nil {
			return nil, errNotUnderstood
		}
	}
	return out, nil
}

// CreateSession makes a session and returns its ID. Nothing renews it: see StartSession.
func (c *Client) CreateSession(ctx context.Context, o SessionOptions) (id string, err error) {
	body := api.SessionRequest{Name: o.Name, Node: o.Node, Behavior: string(o.Behavior)}
	if o.TTL != 0 {
		body.TTL = o.TTL.String()
	}
	switch {
	case o.LockDelay == NoLockDelay:
		body.LockDelay = "0s"
	case o.LockDelay != 0:
		body.LockDelay = o.LockDelay.String()
	}
	r := request{method: http.MethodPut, path: api.PathSessionCreate, body: encode(body)}
	r.understand = onlyOK(func(a answer) (kind, err error, ok bool) {
		var out api.SessionID
		if json.Unmarshal(a.body, &out) != nil || out.ID == "" {
			return nil, nil, false
		}
		id = out.ID
		return nil, nil, true
	})
	_, err = c.write(ctx, "create session", "", r, WriteOptions{Once: o.Once})
	return id, err
}

// RenewSession starts the session's TTL anew; ErrNoSession if it has ended. A renewal may be repeated freely, so it
// takes no place among the idempotency keys that the cluster remembers.
func (c *Client) RenewSession(ctx context.Context, id string) (Session, error) {
	if err := checkSession(id); err != nil {
		return Session{}, &Error{Op: "renew session", Key: id, Kind: ErrInvalid, Err: err}
	}
	var s Session
	r := request{method: http.MethodPut, path: api.PathSessionRenew + id, harmless: true}
	r.understand = func(a answer) (kind, err error, ok bool) {
		if a.code() == api.CodeNoSession {
			return ErrNoSession, nil, true
		}
		list, err := decodeSessions(a.body)
		if a.status != http.StatusOK || err != nil || len(list) != 1 {
			return nil, nil, false
		}
		s = list[0]
		return nil, nil, true
	}
	_, err := c.write(ctx, "renew session", id, r, WriteOptions{})
	return s, err
}

// DestroySession ends a session and what it has locked, and lets its lock-delay begin. That there is none is no error.
func (c *Client) DestroySession(ctx context.Context, id string, o WriteOptions) error {
	if err := checkSession(id); err != nil {
		return &Error{Op: "destroy session", Key: id, Kind: ErrInvalid, Err: err}
	}
	_, err := c.write(ctx, "destroy session", id, request{method: http.MethodPut, path: api.PathSessionDestroy + id}, o)
	return err
}

// SessionInfo reads one session; ErrNoSession if there is none.
func (c *Client) SessionInfo(ctx context.Context, id string, o ReadOptions) (Session, Meta, error) {
	if err := checkSession(id); err != nil {
		return Session{}, Meta{}, &Error{Op: "session", Key: id, Kind: ErrInvalid, Err: err}
	}
	list, meta, err := c.sessions(ctx, id, api.PathSessionInfo+id, o)
	if err == nil && len(list) == 0 {
		err = &Error{Op: "session", Key: id, Kind: ErrNoSession}
	}
	if err != nil {
		return Session{}, meta, err
	}
	return list[0], meta, nil
}

// Sessions lists all sessions, by ID.
func (c *Client) Sessions(ctx context.Context, o ReadOptions) ([]Session, Meta, error) {
	return c.sessions(ctx, "", api.PathSessionList, o)
}

// SessionsOf lists the sessions whose Node is node, by ID.
func (c *Client) SessionsOf(ctx context.Context, node string, o ReadOptions) ([]Session, Meta, error) {
	if node == "" {
		return nil, Meta{}, &Error{Op: "sessions", Kind: ErrInvalid, Err: errors.New("the node has no name")}
	}
	return c.sessions(ctx, node, api.PathSessionNode+node, o)
}

// SessionDetails is a session with what it holds and how long it has, as the node that answered knows it.
type SessionDetails struct {
	Session
	// ExpiresIn is about what is left of its TTL unless it is renewed; 0: it has no TTL.
	ExpiresIn time.Duration
	Held      int      // how many keys it has locked
	Keys      []string // the first 100 of them
}

// SessionsInDetail lists the sessions whose Node is node (all, if that is empty), by ID, with what they hold.
func (c *Client) SessionsInDetail(ctx context.Context, node string, o ReadOptions) ([]SessionDetails, Meta, error) {
	path := api.PathSessionList
	if node != "" {
		path = api.PathSessionNode + node
	}
	return c.sessionDetails(ctx, node, path, o)
}

// SessionInDetail reads one session with what it holds; ErrNoSession if there is none.
func (c *Client) SessionInDetail(ctx context.Context, id string, o ReadOptions) (SessionDetails, Meta, error) {
	if err := checkSession(id); err != nil {
		return SessionDetails{}, Meta{}, &Error{Op: "session", Key: id, Kind: ErrInvalid, Err: err}
	}
	list, meta, err := c.sessionDetails(ctx, id, api.PathSessionInfo+id, o)
	if err == nil && len(list) == 0 {
		err = &Error{Op: "session", Key: id, Kind: ErrNoSession}
	}
	if err != nil {
		return SessionDetails{}, meta, err
	}
	return list[0], meta, nil
}

func (c *Client) sessionDetails(ctx context.Context, what, path string, o ReadOptions) ([]SessionDetails, Meta, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var q query
	q.name("details")
	q.mode(o.Mode)
	var list []SessionDetails
	r := request{method: http.MethodGet, path: path, query: q.String()}
	a, err := c.read(ctx, "sessions", what, func() request { return r }, func(a answer) error {
		plain, err := decodeSessions(a.body)
		var more []struct {
			ExpiresIn string
			Held      int
			Keys      []string
		}
		if err != nil || json.Unmarshal(a.body, &more) != nil || len(more) != len(plain) {
			return errNotUnderstood
		}
		list = make([]SessionDetails, len(plain))
		for i, m := range more {
			list[i] = SessionDetails{Session: plain[i], Held: m.Held, Keys: m.Keys}
			if d, err := time.ParseDuration(m.ExpiresIn); err == nil {
				list[i].ExpiresIn = d
			}
		}
		return nil
	})
	if err != nil {
		return nil, Meta{}, err
	}
	return list, a.meta(), nil
}

func (c *Client) sessions(ctx context.Context, what, path string, o ReadOptions) ([]Session, Meta, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var q query
	q.mode(o.Mode)
	var list []Session
	r := request{method: http.MethodGet, path: path, query: q.String()}
	a, err := c.read(ctx, "sessions", what, func() request { return r }, func(a answer) (err error) {
		list, err = decodeSessions(a.body)
		return err
	})
	if err != nil {
		return nil, Meta{}, err
	}
	return list, a.meta(), nil
}

// Acquire writes a key and locks it for a session, and returns the revision. ErrCondition if another session holds the
// lock or its lock-delay runs; ErrNoSession if the session has ended. If the session holds the lock already it is a
// plain write. See LiveSession.Lock for a lock that tells when it is lost.
func (c *Client) Acquire(ctx context.Context, key string, value []byte, session string, o WriteOptions) (uint64, error) {
	if err := checkSession(session); err != nil {
		return 0, &Error{Op: "acquire", Key: key, Kind: ErrInvalid, Err: err}
	}
	return c.put(ctx, "acquire", key, value, condition{acquire: session}, o)
}

// Release writes a key and unlocks it, and returns the revision. ErrCondition unless the session holds its lock.
func (c *Client) Release(ctx context.Context, key string, value []byte, session string, o WriteOptions) (uint64, error) {
	if err := checkSession(session); err != nil {
		return 0, &Error{Op: "release", Key: key, Kind: ErrInvalid, Err: err}
	}
	return c.put(ctx, "release", key, value, condition{release: session}, o)
}

func checkSession(id string) error {
	if id == "" {
		return errors.New("the session has no ID")
	}
	return nil
}
