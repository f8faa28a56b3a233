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
	keep := c.Mode&ModeKeep != 0
	if keep {
		e.TTL, e.Flags = old.TTL, old.Flags
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
		switch {
		case found && c.Mode&ModeEntry != 0:
			r.Body = EncodeEntries(old)
		case found && c.Mode&ModeReturn != 0:
			r.Body = string(old.Value)
		}
		return r
	case OpPrune:
		keys := m.keys(c.Key)
		for _, k := range keys[:min(len(keys), m.l.PruneKeys+1)] {
			if c.HasIndex && m.entries[k].ModifyIndex > c.Index {
				return m.answer(CodeCondition)
			}
		}
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

// transaction is the state machine's, part by part on a copy.
func (m *model) transaction(c Command) Result {
	work := m.clone()
	var steps, failed []byte
	var noSpace []Result
	failures := 0
	for _, p := range c.Parts {
		r, entries := work.part(p)
		r.Revision = 0
		if entries != nil {
			r.Body = EncodeEntries(entries...)
		}
		steps = appendStep(steps, &r)
		if r.Code != CodeDone {
			failures++
		}
		if r.Code == CodeQuota || r.Code == CodeFull {
			noSpace = append(noSpace, Result{Code: r.Code, Revision: m.revision, Body: r.Body})
		}
		if r.Code != CodeCondition {
			r.Count, r.Body = 0, ""
		}
		failed = appendStep(failed, &r)
	}
	switch {
	case failures == 0:
		*m = *work
		return Result{Code: CodeDone, Revision: m.revision, Body: string(steps)}
	case len(noSpace) == failures:
		return noSpace[0]
	}
	return Result{Code: CodeCondition, Revision: m.revision, Body: string(failed)}
}

// part is what a part of a transaction comes to, and the entries that it tells of, if that is another Body than its own.
func (m *model) part(p Part) (Result, []Entry) {
	old, found := m.entries[p.Key]
	if _, lives := m.sessions[p.Session.ID]; !lives && (p.Lock != LockNone || p.Op == OpCheckSession) {
		return m.answer(CodeNoSession), nil
	}
	bare := func(key string) []Entry {
		e := m.entries[key]
		e.Value = nil
		return []Entry{e}
	}
	r := m.answer(CodeDone)
	holds := true
	switch p.Op {
	case OpGetTree:
		keys := m.keys(p.Key)
		out := make([]Entry, len(keys))
		for i, k := range keys {
			out[i] = m.entries[k]
		}
		r.Count = uint64(len(keys))
		return r, out
	case OpGet, OpGetOrEmpty:
		if found {
			return r, []Entry{old}
		}
		if p.Op == OpGet {
			r.Code = CodeMissing
		}
		return r, nil
	case OpCheckNotExists:
		if found {
			r.Code = CodeExists
		}
		return r, nil
	case OpCheckIndex:
		holds = old.ModifyIndex == p.Index
	case OpCheckSession:
		holds = old.Session == p.Session.ID
	case OpCheckValue:
		holds = bytes.Equal(old.Value, p.Value)
	default:
		return m.written(p)
	}
	switch {
	case !found:
		r.Code = CodeMissing
		return r, nil
	case !holds:
		r.Code = CodeCondition
	}
	return r, bare(p.Key)
}

// written is part for one that may change something.
func (m *model) written(p Part) (Result, []Entry) {
	r := m.execute(p)
	key := p.Key
	switch {
	case r.Code != CodeDone, p.Op == OpDelete, p.Op == OpPrune:
		return r, nil
	case p.Op == OpRename:
		key = p.NewKey
	}
	e := m.entries[key]
	if p.Op != OpAdd {
		e.Value = nil
	}
	return r, []Entry{e}
}
