package client

import (
	"cmp"
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

// NoLockDelay, as SessionOptions.LockDelay, lets the keys of a session that has ended be locked at once.
const NoLockDelay = time.Duration(-1)

// SessionOptions describes a new session. The zero value has the cluster's defaults.
type SessionOptions struct {
	Name string
	Node string // for Sessions.ListOf; "": the cluster node that creates the session
	// TTL is how long the session lives without a renewal: 10 s to 24 h unless the cluster is configured otherwise. 0:
	// it lives until it is destroyed; for Sessions.Start, DefaultSessionTTL.
	TTL time.Duration
	// LockDelay is how long nobody can lock the keys that the session held at its end, since the former holder may not
	// know of the end yet. Released keys have no delay. 0: 15 s; NoLockDelay: none; at most 60 s.
	LockDelay time.Duration
	Behavior  Behavior // "": ReleaseKeys
	Once      Once     // as in WriteOptions; for Sessions.Create only
}

// Session is a session as the cluster knows it.
type Session struct {
	ID          string
	Name        string
	Node        string
	TTL         time.Duration // 0: it ends only when it is destroyed
	LockDelay   time.Duration
	Behavior    Behavior
	CreateIndex uint64
	ModifyIndex uint64
}

// SessionDetails is a session with its locked keys and its remaining time, as the answering node knows it.
type SessionDetails struct {
	Session
	// ExpiresIn is about what is left of the TTL unless the session is renewed; 0: it has no TTL.
	ExpiresIn time.Duration
	Held      int      // how many keys it has locked
	Keys      []string // the first 100 of them
}

// Sessions creates, renews, lists and destroys sessions. A session is replicated and survives the loss of nodes; keys
// are locked by it (see Locks). Start is for programs: it keeps a session alive. The other calls are for programs that
// do that themselves.
type Sessions struct {
	s   *sender
	kv  kv
	now func() time.Duration
}

// Create creates a session and returns its ID. Nothing renews it; see Start.
func (s *Sessions) Create(ctx context.Context, o SessionOptions) (string, error) {
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
	out, err := writeOne(ctx, s.s, "create session", "", r, o.Once, func(id *api.SessionID) bool { return id.ID != "" })
	return out.ID, err
}

// Renew restarts the TTL of a session. The error is ErrNoSession if it has ended. A renewal may be repeated, so it has
// no idempotency key.
func (s *Sessions) Renew(ctx context.Context, id string) (Session, error) {
	if err := checkSession("renew session", id); err != nil {
		return Session{}, err
	}
	var out Session
	r := request{method: http.MethodPut, path: api.PathSessionRenew + id, idempotent: true}
	r.interpret = func(a answer) (kind, err error, ok bool) {
		if a.code() == api.CodeNoSession {
			return ErrNoSession, nil, true
		}
		list, err := decodeSessions(a.body)
		if a.status != http.StatusOK || err != nil || len(list) != 1 {
			return nil, nil, false
		}
		out = list[0].Session
		return nil, nil, true
	}
	_, err := s.s.write(ctx, "renew session", id, r, Once{})
	return out, err
}

// Destroy ends a session and its locks; their lock-delay begins then. It is no error if there is no such session.
func (s *Sessions) Destroy(ctx context.Context, id string, o WriteOptions) error {
	if err := cmp.Or(checkSession("destroy session", id), o.unconditional("destroy session", id)); err != nil {
		return err
	}
	r := request{method: http.MethodPut, path: api.PathSessionDestroy + id}
	_, err := s.s.write(ctx, "destroy session", id, r, o.Once)
	return err
}

// Info reads one session. The error is ErrNoSession if there is none.
func (s *Sessions) Info(ctx context.Context, id string, o ReadOptions) (Session, Meta, error) {
	out, meta, err := s.readOne(ctx, id, o, false)
	return out.Session, meta, err
}

// Details reads one session with the keys that it has locked. The error is ErrNoSession if there is none.
func (s *Sessions) Details(ctx context.Context, id string, o ReadOptions) (SessionDetails, Meta, error) {
	return s.readOne(ctx, id, o, true)
}

// List lists all sessions, by ID.
func (s *Sessions) List(ctx context.Context, o ReadOptions) ([]Session, Meta, error) {
	return withoutDetails(s.read(ctx, "", api.PathSessionList, o, false))
}

// ListOf lists the sessions whose Node is node, by ID.
func (s *Sessions) ListOf(ctx context.Context, node string, o ReadOptions) ([]Session, Meta, error) {
	if node == "" {
		return nil, Meta{}, &Error{Op: "sessions", Kind: ErrInvalid, Err: errors.New("the node has no name")}
	}
	return withoutDetails(s.read(ctx, node, api.PathSessionNode+node, o, false))
}

// ListDetails lists the sessions whose Node is node (all sessions if it is empty), by ID, with the keys that they have
// locked.
func (s *Sessions) ListDetails(ctx context.Context, node string, o ReadOptions) ([]SessionDetails, Meta, error) {
	path := api.PathSessionList
	if node != "" {
		path = api.PathSessionNode + node
	}
	return s.read(ctx, node, path, o, true)
}

func (s *Sessions) readOne(ctx context.Context, id string, o ReadOptions, details bool) (SessionDetails, Meta, error) {
	if err := checkSession("session", id); err != nil {
		return SessionDetails{}, Meta{}, err
	}
	list, meta, err := s.read(ctx, id, api.PathSessionInfo+id, o, details)
	if err == nil && len(list) == 0 {
		err = &Error{Op: "session", Key: id, Kind: ErrNoSession}
	}
	if err != nil {
		return SessionDetails{}, meta, err
	}
	return list[0], meta, nil
}

// read lists the sessions at path. key is for errors.
func (s *Sessions) read(
	ctx context.Context, key, path string, o ReadOptions, details bool,
) ([]SessionDetails, Meta, error) {
	r := request{path: path}
	if details {
		r.query.name(api.QueryDetails)
	}
	r.query.mode(o.Mode)
	var list []SessionDetails
	a, err := s.s.get(ctx, "sessions", key, r, func(a answer) (err error) {
		list, err = decodeSessions(a.body)
		return err
	})
	if err != nil {
		return nil, Meta{}, err
	}
	return list, a.meta(), nil
}

func withoutDetails(list []SessionDetails, meta Meta, err error) ([]Session, Meta, error) {
	if err != nil {
		return nil, meta, err
	}
	out := make([]Session, len(list))
	for i := range list {
		out[i] = list[i].Session
	}
	return out, meta, nil
}

// decodeSessions decodes a list of sessions, with details if it has them.
func decodeSessions(body []byte) ([]SessionDetails, error) {
	var wire []api.Session
	if json.Unmarshal(body, &wire) != nil {
		return nil, errNotUnderstood
	}
	out := make([]SessionDetails, len(wire))
	for i, w := range wire {
		out[i] = SessionDetails{Keys: w.Keys, Session: Session{
			ID: w.ID, Name: w.Name, Node: w.Node, LockDelay: time.Duration(w.LockDelay), Behavior: Behavior(w.Behavior),
			CreateIndex: w.CreateIndex, ModifyIndex: w.ModifyIndex,
		}}
		if w.Held != nil {
			out[i].Held = int(*w.Held)
		}
		if d, err := time.ParseDuration(w.ExpiresIn); err == nil {
			out[i].ExpiresIn = d
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

// checkSession returns an error for op if the ID of a session is empty.
func checkSession(op, id string) error {
	if id == "" {
		return &Error{Op: op, Kind: ErrInvalid, Err: errNoSessionID}
	}
	return nil
}

var errNoSessionID = errors.New("the session has no ID")
