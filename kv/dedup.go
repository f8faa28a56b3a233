package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"tenure/internal/codec"
)

// sum is the start of a SHA-256: enough to tell commands under one key apart.
type sum [16]byte

// remembered is an idempotency key, what command it was used for and what came of it. Result.Revision is the revision
// at which it was remembered: the store's, after the command. Never changed once it is in the table.
type remembered struct {
	key    string
	sum    sum
	result Result
}

const (
	chunkRecords = 1024
	// rememberedBytes is about what one record takes besides its key, here and in the index.
	rememberedBytes = 128
)

type chunk [chunkRecords]remembered

// dedup is the table of idempotency keys: a queue in the order of remembering, numbered from 0 without gaps, and an
// index over it. Revisions never fall along the queue, so the oldest record is also the one with the lowest revision.
type dedup struct {
	limits Limits
	index  map[string]uint64 // key → sequence number; never ranged over
	queue  dedupQueue
	floor  uint64 // 0, or 1 + the highest revision of a forgotten key
	bytes  int64  // of the records remembered since the last freeze
	hasher hash.Hash
	buf    []byte // scratch of hash
}

// dedupQueue holds records first to next−1 in chunks that start at multiples of chunkRecords. A copy by share can be
// read while the original goes on: records are written once, beyond the copy's next, and chunks are dropped, not
// cleared.
type dedupQueue struct {
	first, next uint64
	chunks      []*chunk // chunks[0] holds first
}

func newDedup(l Limits) dedup {
	return dedup{limits: l, index: make(map[string]uint64), hasher: sha256.New()}
}

func (q *dedupQueue) at(seq uint64) *remembered {
	return &q.chunks[seq/chunkRecords-q.first/chunkRecords][seq%chunkRecords]
}

func (q *dedupQueue) push(m remembered) {
	if q.next%chunkRecords == 0 || len(q.chunks) == 0 {
		q.chunks = append(q.chunks, new(chunk))
	}
	q.next++
	*q.at(q.next - 1) = m
}

func (q *dedupQueue) pop() {
	q.first++
	if q.first%chunkRecords == 0 {
		q.chunks[0] = nil
		q.chunks = q.chunks[1:]
	}
}

func (q *dedupQueue) share() dedupQueue {
	return dedupQueue{first: q.first, next: q.next, chunks: slices.Clone(q.chunks)}
}

// check reports whether a command may be applied at revision; if not, why or what its first copy came to. The outcome
// is that of the rules of the package comment in their order.
func (d *dedup) check(c *Command, s sum, revision uint64) (Result, bool) {
	if seq, known := d.index[c.IdemKey]; known {
		m := d.queue.at(seq)
		if m.sum == s {
			return m.result, false
		}
		if c.Base >= d.floor { // else this command may have had the key before the other one
			return Result{Code: CodeKeyReused, Revision: revision}, false
		}
	}
	if c.Base < d.floor {
		return Result{Code: CodeKeyTooOld, Revision: revision}, false
	}
	if c.Base > revision {
		return Result{Code: CodeBaseAhead, Revision: revision}, false
	}
	return Result{}, true
}

// mayKnow reports whether a copy of the command may have been applied: one is remembered, or it would be forgotten.
func (d *dedup) mayKnow(c *Command, s sum) bool {
	seq, known := d.index[c.IdemKey]
	return known && d.queue.at(seq).sum == s || c.Base < d.floor
}

// remember keeps what the command c came to, without a body that is too large.
func (d *dedup) remember(c *Command, s sum, r Result) {
	key := c.IdemKey
	if len(r.Body) > MaxRememberedBody {
		if c.Op == OpSequence {
			r.Count = doneSteps(&r)
		}
		r.Body, r.Dropped = "", true
	}
	d.index[key] = d.queue.next
	d.queue.push(remembered{key: key, sum: s, result: r})
	d.bytes += int64(len(key)+len(r.Body)) + rememberedBytes
}

// forget drops the oldest keys beyond the limits. It runs after every command, for each may have moved the revision.
func (d *dedup) forget(revision uint64) {
	for d.queue.first < d.queue.next {
		m := d.queue.at(d.queue.first)
		full := d.queue.next-d.queue.first > uint64(d.limits.DedupEntries)
		old := revision-m.result.Revision >= d.limits.DedupRevisions
		if !full && !old {
			return
		}
		d.floor = max(d.floor, m.result.Revision+1)
		delete(d.index, m.key)
		d.queue.pop()
	}
}

// hash covers all fields that make two commands the same one. It leaves out what each node that is asked puts in by
// itself: Base, the ID of a session to be created and the node of the session, and the times of a token. Said stands for
// the value and the parts.
func (d *dedup) hash(c *Command) sum {
	b := append(d.buf[:0], byte(c.Op), 0)
	if c.HasIndex {
		b[1] = 1
	}
	b = binary.AppendUvarint(b, c.Index)
	b = binary.AppendUvarint(b, c.Flags)
	b = binary.AppendUvarint(b, uint64(len(c.Key)))
	b = append(b, c.Key...)
	if c.present()&moreFields != 0 {
		b[1] |= 2
		more := c.more()
		if c.Op == OpSessionCreate {
			more.Session.ID, more.Session.Node = "", ""
		}
		b = codec.Append(b, &more) // it tells its own length
	}
	if c.Mode != 0 {
		b[1] |= 8
		b = append(b, byte(c.Mode))
	}
	if c.Said != "" {
		b[1] |= 4
		b = append(b, c.Said...)
	}
	d.hasher.Reset()
	d.hasher.Write(b)
	if c.Said == "" {
		d.hashPayload(c)
	}
	b = d.hasher.Sum(b[:0])
	d.buf = b
	return sum(b)
}

// hashPayload adds the value and the parts of c.
func (d *dedup) hashPayload(c *Command) {
	d.hasher.Write(c.Test)
	d.hasher.Write(c.withoutTimes())
	for i := range c.Parts {
		p := EncodeCommand(&c.Parts[i])
		d.hasher.Write(binary.AppendUvarint(nil, uint64(len(p))))
		d.hasher.Write(p)
	}
}

// read reads the records of a state database whose marks are m.
func (d *dedup) read(view StateDB, m *meta) error {
	d.floor = m.Floor
	d.queue.first, d.queue.next = m.First, m.First
	var broken error
	err := view.Ascend(KindDedup, nil, func(key, value []byte) bool {
		var seq uint64
		var r remembered
		if seq, broken = parseSequenceKey(key); broken != nil {
			return false
		}
		if r, broken = decodeRemembered(seq, value); broken != nil {
			return false
		}
		broken = d.load(seq, r)
		return broken == nil
	})
	if err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	if d.queue.next != m.Next {
		return damaged("idempotency records up to %d are there, they should reach up to %d", d.queue.next, m.Next)
	}
	return nil
}

// load adds a record from the state database; they come in rising order without gaps.
func (d *dedup) load(seq uint64, m remembered) error {
	q := &d.queue
	if seq != q.next {
		return damaged("idempotency record %d: found where %d was expected", seq, q.next)
	}
	if _, twice := d.index[m.key]; twice {
		return damaged("idempotency record %d: its key %q is there twice", seq, m.key)
	}
	if q.first < q.next && m.result.Revision < q.at(q.next-1).result.Revision {
		return damaged("idempotency record %d: its revision %d is below the one before", seq, m.result.Revision)
	}
	d.index[m.key] = seq
	q.push(m)
	return nil
}
