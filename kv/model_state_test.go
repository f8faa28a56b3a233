package kv

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// model is the state machine as one would explain it: maps, and a list of all idempotency keys ever used.
type model struct {
	l        Limits
	revision uint64
	stamped  bool

	entries        map[string]Entry
	expiry         map[string]running
	delays         map[string]running
	sessions       map[string]Session
	sessionsIndex  uint64
	fences         map[string]uint64
	floors         map[string]uint64 // by the first part of a fence's name
	tombstones     map[string]uint64
	tombstoneFloor uint64
	quotas         map[string]modelQuota

	used    []modelKey
	dropped int // used[:dropped] are forgotten
}

type modelKey struct {
	key, what string
	result    Result
}

func newModel(l Limits) *model {
	return &model{l: l, revision: 1, entries: map[string]Entry{}, expiry: map[string]running{},
		delays: map[string]running{}, sessions: map[string]Session{},
		fences: map[string]uint64{}, floors: map[string]uint64{}, tombstones: map[string]uint64{},
		quotas: map[string]modelQuota{}}
}

func (m *model) clone() *model {
	c := *m
	c.entries, c.expiry, c.delays, c.sessions = maps.Clone(m.entries), maps.Clone(m.expiry), maps.Clone(m.delays),
		maps.Clone(m.sessions)
	c.fences, c.floors, c.tombstones = maps.Clone(m.fences), maps.Clone(m.floors), maps.Clone(m.tombstones)
	c.quotas = maps.Clone(m.quotas)
	return &c
}

func (m *model) answer(code Code) Result { return Result{Code: code, Revision: m.revision} }

func (m *model) apply(c Command) Result {
	same := c
	same.Base = 0
	if c.Op == OpSessionCreate {
		same.Session.ID, same.Session.Node = "", "" // each node that is asked puts these in by itself
	}
	what := fmt.Sprintf("%+v", same)
	if c.IdemKey != "" {
		reused := false
		for i := len(m.used) - 1; i >= m.dropped; i-- {
			if u := m.used[i]; u.key == c.IdemKey {
				if u.what == what {
					return u.result
				}
				reused = true
			}
		}
		for _, u := range m.used[:m.dropped] {
			if c.Base <= u.result.Revision {
				return m.answer(CodeKeyTooOld)
			}
		}
		if reused {
			return m.answer(CodeKeyReused)
		}
		if c.Base > m.revision {
			return m.answer(CodeBaseAhead)
		}
	}
	m.stamped = false
	r := m.fence(c)
	if c.IdemKey != "" {
		kept := r
		if len(r.Body) > MaxRememberedBody {
			kept.Body, kept.Dropped = "", true
		}
		m.used = append(m.used, modelKey{c.IdemKey, what, kept})
	}
	for m.dropped < len(m.used) {
		if len(m.used)-m.dropped <= m.l.DedupEntries &&
			m.used[m.dropped].result.Revision+m.l.DedupRevisions > m.revision {
			break
		}
		m.dropped++
	}
	return r
}

func (m *model) fence(c Command) Result {
	kind, _, _ := strings.Cut(c.Fence, "/")
	if c.Op == OpDropFence {
		m.floors[kind] = max(m.floors[kind], m.fences[c.Fence])
		if c.HasIndex {
			m.floors[kind] = c.Index
		}
		delete(m.fences, c.Fence)
		return m.answer(CodeDone)
	}
	if c.Fence != "" {
		largest, known := m.fences[c.Fence]
		if !known {
			largest = m.floors[kind]
		}
		if c.Token < largest {
			return m.answer(CodeFenced)
		}
		if !known && len(m.fences) >= m.l.Fences {
			return m.answer(CodeFull)
		}
		m.fences[c.Fence] = c.Token
	}
	switch c.Op {
	case OpTransaction:
		return m.transaction(c)
	case OpSequence:
		return m.sequence(c)
	}
	return m.execute(c)
}

func (m *model) stamp() uint64 {
	if !m.stamped {
		m.revision++
		m.stamped = true
	}
	return m.revision
}

// put writes e, keeping CreateIndex, and says what its TTL becomes: keep leaves it.
func (m *model) put(e Entry, keep bool) Result {
	e.ModifyIndex = m.stamp()
	old, found := m.entries[e.Key]
	if e.CreateIndex = e.ModifyIndex; found {
		e.CreateIndex = old.CreateIndex
	}
	if len(e.Value) == 0 {
		e.Value = nil
	}
	m.entries[e.Key] = e
	if !keep {
		delete(m.expiry, e.Key)
		if e.TTL > 0 {
			m.expiry[e.Key] = running{m.revision, e.TTL}
		}
	}
	return m.answer(CodeDone)
}

func (m *model) erase(key string) {
	delete(m.entries, key)
	delete(m.expiry, key)
	if rev := m.stamp(); rev > m.tombstoneFloor {
		m.tombstones[key] = rev
	}
	for len(m.tombstones) > m.l.Tombstones {
		m.tombstoneFloor = slices.Min(slices.Collect(maps.Values(m.tombstones)))
		maps.DeleteFunc(m.tombstones, func(_ string, rev uint64) bool { return rev == m.tombstoneFloor })
	}
}

func (m *model) deleted(prefix string) uint64 {
	newest := m.tombstoneFloor
	for k, rev := range m.tombstones {
		if strings.HasPrefix(k, prefix) {
			newest = max(newest, rev)
		}
	}
	return newest
}

func (m *model) locked() (n int) {
	for _, e := range m.entries {
		if e.Session != "" {
			n++
		}
	}
	return n
}

func (m *model) set(c Command) Result {
	old, found := m.entries[c.Key]
	r := m.setOver(c, old, found)
	if found && c.Mode != 0 && (r.Code == CodeDone || r.Code == CodeCondition) {
		r.Count = 1
	}
	if found && c.Mode&ModeReturn != 0 && r.Code != CodeQuota {
		r.Body = string(old.Value)
	}
	return r
}

func (m *model) setOver(c Command, old Entry, found bool) Result {
	e := Entry{Key: c.Key, Value: c.Value, Flags: c.Flags, LockIndex: old.LockIndex, Session: old.Session, TTL: c.TTL}
	if c.HasIndex && (c.Index == 0) == found || c.HasIndex && found && old.ModifyIndex != c.Index {
		return m.answer(CodeCondition)
	}
	if c.Mode&ModeAbsent != 0 && found || c.Mode&ModePresent != 0 && !found ||
		c.Mode&ModeEqual != 0 && (!found || !bytes.Equal(old.Value, c.Test)) {
		return m.answer(CodeCondition)
	}
	keep := c.Mode&ModeKeepTTL != 0
	if keep {
		e.TTL = old.TTL
	}
	if c.Lock == LockRelease {
		if old.Session != c.Session.ID {
			return m.answer(CodeCondition)
		}
		e.Session = ""
	}
	if c.Lock == LockAcquire {
		if _, ok := m.sessions[c.Session.ID]; !ok {
			return m.answer(CodeNoSession)
		}
		if _, delayed := m.delays[c.Key]; old.Session != c.Session.ID && (old.Session != "" || delayed) {
			return m.answer(CodeCondition)
		}
		if old.Session == "" {
			if m.locked()+len(m.delays) >= m.l.Locks {
				return m.answer(CodeFull)
			}
			e.LockIndex++
		}
		e.Session = c.Session.ID
	}
	if e.TTL > 0 && old.TTL == 0 && len(m.expiry) >= m.l.ExpiringKeys {
		return m.answer(CodeFull)
	}
	if c.Lock == LockRelease && len(c.Value) <= smallValueBytes {
		return m.put(e, keep)
	}
	return m.within(func() Result { return m.put(e, keep) })
}

func (m *model) execute(c Command) Result {
	old, found := m.entries[c.Key]
	switch c.Op {
	case OpSet:
		return m.set(c)
	case OpDelete:
		var r Result
		if found && (c.HasIndex && old.ModifyIndex != c.Index || c.Mode&ModeEqual != 0 && !bytes.Equal(old.Value, c.Test) ||
			c.Mode&ModeAbsent != 0 && old.TTL != 0 || c.Mode&ModePresent != 0 && old.TTL == 0) {
			r = m.answer(CodeCondition)
		} else {
			r = m.eraseAll([]string{c.Key})
		}
		if found && c.Mode&ModeReturn != 0 {
			r.Body = string(old.Value)
		}
		return r
	case OpPrune:
		keys := m.keys(c.Key)
		if len(keys) > m.l.PruneKeys {
			return m.answer(CodeTooMany)
		}
		return m.eraseAll(keys)
	case OpSessionCreate, OpSessionDestroy, OpSessionRenew, OpEndSession:
		return m.session(c)
	case OpQuota:
		return m.quota(c)
	case OpEndDelay:
		if d, ok := m.delays[c.Key]; !ok || d.arm != c.Arm {
			return m.answer(CodeCondition)
		}
		delete(m.delays, c.Key)
		return m.answer(CodeDone)
	case OpEndKey:
		if e, ok := m.expiry[c.Key]; !ok || e.arm != c.Arm {
			return m.answer(CodeCondition)
		}
		return m.eraseAll([]string{c.Key})
	}
	if catalogue[c.Op].step {
		return m.step(c, old, found)
	}
	if !found {
		return m.answer(CodeMissing)
	}
	return m.change(c, old)
}

func (m *model) eraseAll(keys []string) Result {
	n := uint64(0)
	for _, k := range keys {
		if _, found := m.entries[k]; found {
			m.erase(k)
			n++
		}
	}
	r := m.answer(CodeDone)
	r.Count = n
	return r
}

// change runs the commands that need the key to be there.
func (m *model) change(c Command, old Entry) (r Result) {
	e := old
	switch c.Op {
	case OpTestAndSet:
		if !bytes.Equal(old.Value, c.Test) {
			r = m.answer(CodeDone)
			r.Body = string(old.Value)
			return r
		}
		e.Value = c.Value
		r = m.within(func() Result { return m.put(e, true) })
		if r.Code == CodeDone {
			r.Body, r.Count = string(c.Value), 1
		}
	case OpExpire:
		if c.TTL > 0 && old.TTL == 0 && len(m.expiry) >= m.l.ExpiringKeys {
			return m.answer(CodeFull)
		}
		e.TTL = c.TTL
		r = m.put(e, false)
	case OpRemove:
		r = m.eraseAll([]string{c.Key})
		r.Body = EncodeEntries(old)
	case OpRename:
		to := m.entries[c.NewKey]
		if c.Key == c.NewKey {
			return m.answer(CodeDone)
		}
		if old.Session != "" || to.Session != "" {
			return m.answer(CodeCondition)
		}
		r = m.within(func() Result {
			m.erase(c.Key)
			e.Key, e.LockIndex = c.NewKey, to.LockIndex
			return m.put(e, false)
		})
	}
	return r
}

func (m *model) session(c Command) Result {
	id := c.Session.ID
	old, lives := m.sessions[id]
	switch {
	case c.Op == OpSessionCreate && lives:
		return m.answer(CodeExists)
	case c.Op == OpSessionCreate && len(m.sessions) >= m.l.Sessions:
		return m.answer(CodeFull)
	case c.Op == OpSessionCreate:
		s := c.Session
		s.CreateIndex = m.stamp()
		s.ModifyIndex, m.sessionsIndex = s.CreateIndex, s.CreateIndex
		m.sessions[id] = s
		r := m.answer(CodeDone)
		r.Body = id
		return r
	case c.Op == OpSessionRenew && !lives:
		return m.answer(CodeNoSession)
	case c.Op == OpSessionRenew:
		old.Renewals++
		m.sessions[id] = old
		return m.answer(CodeDone)
	case c.Op == OpSessionDestroy && !lives:
		return m.answer(CodeDone)
	case c.Op == OpEndSession && (!lives || old.TTL == 0 || old.Renewals != c.Arm):
		return m.answer(CodeCondition)
	}
	m.sessionsIndex = m.stamp()
	delete(m.sessions, id)
	r := m.answer(CodeDone)
	for _, k := range m.keys("") {
		e := m.entries[k]
		if e.Session != id {
			continue
		}
		if old.Behavior == Delete {
			m.erase(k)
			r.Count++
		} else {
			e.Session = ""
			m.put(e, true)
		}
		if old.LockDelay > 0 {
			m.delays[k] = running{m.revision, old.LockDelay}
		}
	}
	return r
}

func (m *model) transaction(c Command) Result {
	work := m.clone()
	var o Outcomes
	var overs []string
	for i, p := range c.Parts {
		results, what, over := work.part(p)
		if over != "" {
			overs = append(overs, over)
		}
		for _, e := range results {
			o.Results = append(o.Results, Outcome{i, &e})
		}
		if what != "" {
			o.Errors = append(o.Errors, PartError{i, what})
		}
	}
	r := m.answer(CodeCondition)
	if len(o.Errors) > 0 && len(overs) == len(o.Errors) {
		return Result{Code: CodeQuota, Revision: m.revision, Body: overs[0]}
	}
	if len(o.Errors) > 0 {
		o.Results = nil
	} else {
		*m = *work
		r = m.answer(CodeDone)
	}
	r.Body = EncodeOutcomes(o)
	return r
}

// part is what a part answers, or why it fails.
func (m *model) part(p Part) (out []Entry, what, over string) {
	old, found := m.entries[p.Key]
	bare := func(key string) []Entry {
		e := m.entries[key]
		e.Value = nil
		return []Entry{e}
	}
	if to := map[bool]string{p.Lock == LockAcquire: "lock", p.Lock == LockRelease: "unlock",
		p.Op == OpCheckSession: "check the session of"}[true]; to != "" {
		if _, lives := m.sessions[p.Session.ID]; p.Session.ID == "" {
			return nil, fmt.Sprintf("failed to %s key %q, missing session", to, p.Key), ""
		} else if !lives {
			return nil, fmt.Sprintf("failed to %s key %q, invalid session %q", to, p.Key, p.Session.ID), ""
		}
	}
	switch p.Op {
	case OpGetTree:
		for _, k := range m.keys(p.Key) {
			out = append(out, m.entries[k])
		}
		return out, "", ""
	case OpGetOrEmpty:
		old.Key = p.Key
		return []Entry{old}, "", ""
	case OpCheckNotExists:
		if found {
			return nil, fmt.Sprintf("key %q exists", p.Key), ""
		}
		return nil, "", ""
	case OpGet, OpCheckIndex, OpCheckSession, OpCheckValue:
		if !found {
			return nil, fmt.Sprintf("key %q doesn't exist", p.Key), ""
		}
	}
	switch p.Op {
	case OpGet:
		return []Entry{old}, "", ""
	case OpCheckIndex:
		if old.ModifyIndex != p.Index {
			return nil, fmt.Sprintf("failed index check for key %q: its modify index is %d, not %d", p.Key,
				old.ModifyIndex, p.Index), ""
		}
		return bare(p.Key), "", ""
	case OpCheckSession:
		if old.Session != p.Session.ID {
			return nil, fmt.Sprintf("failed session check for key %q: its session is %q, not %q", p.Key, old.Session,
				p.Session.ID), ""
		}
		return bare(p.Key), "", ""
	case OpCheckValue:
		if !bytes.Equal(old.Value, p.Value) {
			return nil, fmt.Sprintf("failed value check for key %q: it holds another value", p.Key), ""
		}
		return bare(p.Key), "", ""
	}
	switch r := m.execute(p); r.Code {
	case CodeDone:
	case CodeQuota:
		return nil, fmt.Sprintf("failed at key %q: the quota of a prefix does not allow it", p.Key), r.Body
	default:
		return nil, whyFailed(&p, r.Code), ""
	}
	switch p.Op {
	case OpSet:
		return bare(p.Key), "", ""
	case OpRename:
		return bare(p.NewKey), "", ""
	case OpAdd:
		return []Entry{m.entries[p.Key]}, "", ""
	}
	return nil, "", ""
}
