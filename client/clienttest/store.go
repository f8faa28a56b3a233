package clienttest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/client"
)

// store is what all nodes share. Cluster.mu guards it.
type store struct {
	revision uint64
	applied  int
	entries  map[string]client.Entry
	expiry   map[string]time.Time // of keys with a TTL
	sessions map[string]*session
	delays   map[string]time.Time // until when nobody locks a key
	changes  []change             // all, by revision
	open     bool                 // a transaction is under way: its changes share a revision
}

// change is one event of a stream.
type change struct {
	revision uint64
	key      string
	entry    *client.Entry // nil: deleted
	session  string
}

type session struct {
	client.Session
	ends time.Time // zero: never
}

// op is one operation on a key, as transactions spell it. Whole requests are turned into it.
type op = client.TxnOp

func newStore() store {
	return store{
		revision: 1, entries: map[string]client.Entry{}, expiry: map[string]time.Time{},
		sessions: map[string]*session{}, delays: map[string]time.Time{},
	}
}

// write begins a change.
func (s *store) write() {
	if !s.open {
		s.revision++
		s.applied++
	}
}

func (s *store) record(c change) {
	c.revision = s.revision
	s.changes = append(s.changes, c)
}

// keys are those that start with prefix, in order.
func (s *store) keys(prefix string) []string {
	var out []string
	for k := range s.entries {
		if strings.HasPrefix(k, prefix) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// set does a set, cas, lock or unlock, or says why not.
func (s *store) set(x op) string {
	e, exists := s.entries[x.Key]
	held := e.Session
	switch {
	case x.Verb == client.TxnCAS && e.ModifyIndex != x.Index:
		return "index is stale"
	case x.Verb == client.TxnLock && s.sessions[x.Session] == nil:
		return fmt.Sprintf("invalid session %q", x.Session)
	case x.Verb == client.TxnLock && (held != "" && held != x.Session || time.Now().Before(s.delays[x.Key])):
		return "lock is held"
	case x.Verb == client.TxnUnlock && (held == "" || held != x.Session):
		return "lock isn't held by this session"
	}
	s.write()
	e.Key, e.Value, e.Flags, e.ModifyIndex = x.Key, bytes.Clone(x.Value), x.Flags, s.revision
	if !exists {
		e.CreateIndex = s.revision
	}
	if x.Verb == client.TxnLock && held == "" {
		e.Session, e.LockIndex = x.Session, e.LockIndex+1
	}
	if x.Verb == client.TxnUnlock {
		e.Session = ""
	}
	delete(s.expiry, x.Key)
	s.put(e)
	return ""
}

func (s *store) put(e client.Entry) {
	s.entries[e.Key] = e
	s.record(change{key: e.Key, entry: &e})
}

// delete deletes keys that exist, in one write.
func (s *store) delete(keys []string) {
	if len(keys) == 0 {
		return
	}
	s.write()
	for _, k := range keys {
		delete(s.entries, k)
		delete(s.expiry, k)
		s.record(change{key: k})
	}
}

// run does one operation: what it answers, and why it failed.
func (s *store) run(x op) (shown []client.Entry, failed string) {
	e, exists := s.entries[x.Key]
	missing := fmt.Sprintf("key %q doesn't exist", x.Key)
	switch x.Verb {
	case client.TxnSet, client.TxnCAS, client.TxnLock, client.TxnUnlock:
		if failed = s.set(x); failed == "" {
			shown = append(shown, bare(s.entries[x.Key]))
		}
	case client.TxnGet, client.TxnGetOrEmpty:
		if e.Key = x.Key; exists || x.Verb == client.TxnGetOrEmpty {
			shown = append(shown, e)
		} else {
			failed = missing
		}
	case client.TxnGetTree:
		for _, k := range s.keys(x.Key) {
			shown = append(shown, s.entries[k])
		}
	case client.TxnDelete, client.TxnDeleteCAS:
		if x.Verb == client.TxnDeleteCAS && exists && (e.ModifyIndex != x.Index || x.Index == 0) {
			failed = "index is stale"
		} else if exists {
			s.delete([]string{x.Key})
		}
	case client.TxnDeleteTree:
		s.delete(s.keys(x.Key))
	case client.TxnAdd:
		sum, ok := add(string(e.Value), x.Num)
		if !exists {
			failed = missing
		} else if !ok {
			failed = "not a number"
		} else {
			e.Value = []byte(sum)
			s.write()
			e.ModifyIndex = s.revision
			s.put(e)
			shown = append(shown, e)
		}
	case client.TxnRename:
		if failed = s.rename(x, missing); failed == "" {
			shown = append(shown, bare(s.entries[x.NewKey]))
		}
	default:
		if failed = check(x, e, exists); failed == "" && x.Verb != client.TxnCheckNotExists {
			shown = append(shown, bare(e))
		}
	}
	return shown, failed
}

// bare is e without its value.
func bare(e client.Entry) client.Entry {
	e.Value = nil
	return e
}

func check(x op, e client.Entry, exists bool) string {
	ok := false
	switch x.Verb {
	case client.TxnCheckIndex:
		ok = exists && e.ModifyIndex == x.Index
	case client.TxnCheckSession:
		ok = exists && e.Session != "" && e.Session == x.Session
	case client.TxnCheckNotExists:
		ok = !exists
	case client.TxnCheckValue:
		ok = exists && bytes.Equal(e.Value, x.Value)
	}
	if !ok {
		return fmt.Sprintf("%s of %q failed", x.Verb, x.Key)
	}
	return ""
}

func add(value string, n int64) (string, bool) {
	old, err := strconv.ParseInt(value, 10, 64)
	sum := old + n
	if err != nil || (sum > old) != (n > 0) && n != 0 {
		return "", false
	}
	return strconv.FormatInt(sum, 10), true
}

func (s *store) rename(x op, missing string) string {
	from, exists := s.entries[x.Key]
	to := s.entries[x.NewKey]
	switch {
	case !exists:
		return missing
	case x.Key == x.NewKey:
		return ""
	case from.Session != "" || to.Session != "":
		return "one of the keys is locked"
	}
	s.write()
	was := s.open
	s.open = true // the same revision
	s.delete([]string{x.Key})
	s.open = was
	if to.CreateIndex == 0 {
		to.CreateIndex = s.revision
	}
	s.put(client.Entry{Key: x.NewKey, Value: from.Value, Flags: from.Flags, LockIndex: to.LockIndex,
		CreateIndex: to.CreateIndex, ModifyIndex: s.revision})
	return ""
}

// transaction does all of ops, or nothing.
func (s *store) transaction(ops []op) (shown []client.Entry, failed []client.TxnFailure) {
	before := *s
	before.entries, before.expiry = maps.Clone(s.entries), maps.Clone(s.expiry)
	s.write()
	s.open = true
	for i, x := range ops {
		entries, why := s.run(x)
		if shown = append(shown, entries...); why != "" {
			failed = append(failed, client.TxnFailure{Op: i, What: why})
		}
	}
	changed := len(s.changes) > len(before.changes)
	if s.open = false; len(failed) > 0 || !changed {
		*s = before
	}
	return shown, failed
}

// newSession adds one.
func (s *store) newSession(x client.Session) {
	s.write()
	x.CreateIndex, x.ModifyIndex = s.revision, s.revision
	s.sessions[x.ID] = &session{Session: x}
	s.renew(x.ID)
	s.record(change{session: x.ID})
}

// endSession ends one, if it is there, with its locks.
func (s *store) endSession(id string) {
	x := s.sessions[id]
	if x == nil {
		return
	}
	s.write()
	delete(s.sessions, id)
	s.open = true
	defer func() { s.open = false }()
	for _, k := range s.keys("") {
		e := s.entries[k]
		if e.Session != id {
			continue
		}
		s.delays[k] = time.Now().Add(x.LockDelay)
		if x.Behavior == client.DeleteKeys {
			s.delete([]string{k})
			continue
		}
		e.Session, e.ModifyIndex = "", s.revision
		s.put(e)
	}
	s.record(change{session: id})
}

func (s *store) renew(id string) []map[string]any {
	if x := s.sessions[id]; x != nil && x.TTL > 0 {
		x.ends = time.Now().Add(x.TTL)
	}
	return s.listSessions("info/"+id, false)
}

// sweep ends sessions and keys whose time is over at now.
func (s *store) sweep(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		if ends := s.sessions[id].ends; !ends.IsZero() && !now.Before(ends) {
			s.endSession(id)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.expiry)) {
		if !now.Before(s.expiry[k]) {
			s.delete([]string{k})
		}
	}
}

// next is when sweep will have something to do, if at all.
func (s *store) next() (time.Time, bool) {
	var first time.Time
	for _, x := range s.sessions {
		if !x.ends.IsZero() && (first.IsZero() || x.ends.Before(first)) {
			first = x.ends
		}
	}
	for _, t := range s.expiry {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	return first, !first.IsZero()
}
