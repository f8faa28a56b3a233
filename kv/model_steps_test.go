package kv

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"pgregory.net/rapid"
)

// drawMode draws a mode that c's Op takes, and takes the TTL away that it excludes.
func drawMode(t *rapid.T, c *Command) {
	all := known(c.Op).modes
	c.Mode = all & rapid.SampledFrom([]Mode{0, 0, ModeAbsent, ModePresent, ModeEqual}).Draw(t, "condition")
	c.Mode |= all & rapid.SampledFrom([]Mode{0, ModeReturn | ModeWhole | ModeCreate, ModeKeep, ModeReturn | ModeKeep, ModeEntry}).Draw(t, "mode")
	if c.Mode&ModeKeep != 0 {
		c.TTL, c.Flags = 0, 0
	}
}

// drawSteps draws the parts of a sequence: now and then a check or two, mostly one that holds.
func drawSteps(t *rapid.T, m *model, c *Command) {
	for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "checks") {
		p := Command{Op: OpCheckNotExists, Key: drawKey.Draw(t, "key")}
		if e, found := m.entries[p.Key]; found {
			if p.Op, p.Value = OpCheckValue, e.Value; rapid.Bool().Draw(t, "by index") {
				p = Command{Op: OpCheckIndex, Key: p.Key, HasIndex: true, Index: e.ModifyIndex}
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "since") == 0 {
			p = Command{Op: OpCheckUnchanged, Key: p.Key, HasIndex: true}
			p.Index = m.revision - min(m.revision, rapid.Uint64Range(0, 6).Draw(t, "ago"))
		}
		if rapid.IntRange(0, 5).Draw(t, "broken") == 0 {
			p = Command{Op: OpCheckIndex, Key: p.Key, HasIndex: true, Index: 1}
		}
		c.Parts = append(c.Parts, p)
	}
	ops := append([]Op{OpFetch, OpMeasure, OpPrune, OpPutAll, OpPutAll}, stepOps...)
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		p := drawOp(t, m, rapid.SampledFrom(ops).Draw(t, "op"))
		p.Lock, p.Session = LockNone, Session{}
		c.Parts = append(c.Parts, p)
	}
}

// sequence is the state machine's, step by step on one state.
func (m *model) sequence(c Command) Result {
	var steps []byte
	before := m.clone()
	for i, p := range c.Parts {
		old, found := m.entries[p.Key]
		if p.Op == OpCheckNotExists && found || p.Op == OpCheckIndex && (!found || old.ModifyIndex != p.Index) ||
			p.Op == OpCheckValue && (!found || !bytes.Equal(old.Value, p.Value)) ||
			p.Op == OpCheckUnchanged && (found && old.ModifyIndex > p.Index ||
				!found && max(m.tombstones[p.Key], m.tombstoneFloor) > p.Index) {
			r := m.answer(CodeCondition)
			r.Count = uint64(i)
			return r
		}
		if !known(p.Op).check {
			step := m.execute(p)
			if c.Mode == ModeWhole && (step.Code == CodeQuota || step.Code == CodeFull || step.Code == CodeTooLarge) {
				*m = *before
				step.Revision, step.Count = m.revision, uint64(i)
				return step
			}
			steps = appendStep(steps, &step)
		}
	}
	r := m.answer(CodeDone)
	r.Body = string(steps)
	return r
}

// step runs one of the commands on keys of the Redis protocol.
func (m *model) step(c Command, old Entry, found bool) Result {
	r := m.answer(CodeDone)
	switch c.Op {
	case OpPutAll:
		return m.putAll(c)
	case OpFetch, OpMeasure:
		if found {
			r.Count = 1 + uint64(len(old.Value))
			if c.Op == OpMeasure && old.TTL > 0 {
				r.Body = string(binary.AppendUvarint(nil, uint64(old.TTL)))
			}
		}
	case OpRename:
		_, taken := m.entries[c.NewKey]
		switch {
		case !found:
			return m.answer(CodeMissing)
		case c.Mode == ModeAbsent && taken:
			r = m.answer(CodeCondition)
			r.Count = 1
			return r
		}
		return m.change(c, old)
	default:
		r = m.stepOver(c, old, found)
	}
	if found && r.Code != CodeQuota && (c.Mode&ModeReturn != 0 || c.Op == OpFetch) {
		r.Body = string(old.Value)
	}
	return r
}

// drawPairs draws the keys and values of an OpPutAll.
func drawPairs(t *rapid.T, c *Command) {
	c.Value = nil
	for range rapid.IntRange(1, 4).Draw(t, "pairs") {
		c.Value = AppendPair(c.Value, drawKey.Draw(t, "key"), drawValue(t))
	}
}

// putAll puts all keys, or none.
func (m *model) putAll(c Command) Result {
	before, r := m.clone(), m.answer(CodeDone)
	for _, conditions := range []bool{true, false} {
		_ = c.EachPair(func(key string, value []byte) bool {
			old, found := m.entries[key]
			switch {
			case !conditions:
				r = m.set(Command{Op: OpSet, Key: key, Value: value, TTL: c.TTL})
			case c.Mode == ModeAbsent && found, c.Mode == ModeEqual && (!found || !bytes.Equal(old.Value, c.Test)):
				r = m.answer(CodeCondition)
			}
			return r.Code == CodeDone
		})
		if r.Code != CodeDone {
			*m = *before
			break
		}
	}
	return r
}

// stepOver runs a step that writes its key.
func (m *model) stepOver(c Command, old Entry, found bool) Result {
	e := old
	e.Key = c.Key
	keep := c.Op == OpAppend || c.Op == OpAdd
	count, body := map[bool]uint64{true: 1}[c.Op == OpSetTTL], ""
	holds := true
	switch c.Op {
	case OpAppend:
		e.Value = append(bytes.Clone(old.Value), c.Value...)
		if c.Num > 0 && int64(len(e.Value)) > c.Num {
			return m.answer(CodeTooLarge)
		}
		count = 1 + uint64(len(e.Value))
	case OpAdd:
		n := int64(0)
		if !found && c.Mode == 0 {
			return m.answer(CodeMissing)
		}
		if found {
			var err error
			if n, err = strconv.ParseInt(string(old.Value), 10, 64); err != nil {
				return m.answer(CodeNotNumber)
			}
		}
		sum := n + c.Num
		if c.Num > 0 && sum < n || c.Num < 0 && sum > n {
			r := m.answer(CodeNotNumber)
			r.Count = 1
			return r
		}
		body = strconv.FormatInt(sum, 10)
		e.Value, count = []byte(body), 0
	case OpSetTTL:
		if !found {
			return m.answer(CodeMissing)
		}
		holds = (c.Mode&ModeAbsent == 0 || old.TTL == 0) && (c.Mode&ModePresent == 0 || old.TTL != 0) &&
			(c.Mode&ModeEqual == 0 || bytes.Equal(old.Value, c.Test))
	}
	if !holds {
		r := m.answer(CodeCondition)
		r.Count = count
		return r
	}
	if !keep {
		e.TTL = c.TTL
	}
	if e.TTL > 0 && old.TTL == 0 && len(m.expiry) >= m.l.ExpiringKeys {
		return m.answer(CodeFull)
	}
	write := func() Result { return m.put(e, keep) }
	r := m.answer(CodeDone)
	if c.Op == OpSetTTL {
		r = write()
	} else {
		r = m.within(write)
	}
	if r.Code == CodeDone {
		r.Count, r.Body = count, body
	}
	return r
}
