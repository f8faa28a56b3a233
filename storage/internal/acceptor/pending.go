package acceptor

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"

	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/journal"
)

// pending is where the journal holds what log.db does not have. An entry is looked for here first. It takes 24 bytes
// an entry and 12 a record; the ring bounds both.
type pending struct {
	mu      sync.RWMutex
	marks   multipaxos.Durable // of the log, with all of it
	number  uint64             // of the last record
	bytes   int64              // that the records take in the ring
	records []pendingRecord    // by rising number, without a gap
	first   uint64             // number of the first of them
	entries []pendingEntry     // the last write of each slot that is not truncated, by rising slot
	home    homeSums           // of the entries in log.db
	coming  homeSums           // likewise, once the transaction that is being committed is there
}

// homeSums has the checksums of the entries in log.db as of a transaction.
type homeSums struct {
	txid uint64
	sums *slotSums
}

// pendingRecord is where a record lies, and how many of the pending entries are in it.
type pendingRecord struct {
	journal.Place
	live uint32
}

// pendingEntry says in which record the entry of a slot is.
type pendingEntry struct {
	slot   multipaxos.Slot
	number uint64 // of the record
	bytes  uint32 // of the value
}

// start sets the marks to those of log.db, which holds c, with nothing pending.
func (p *pending) start(c *Content) {
	p.marks, p.number, p.home = c.Marks.Durable(), c.Marks.Journaled, homeSums{c.txid, c.sums}
}

// announce records what log.db will hold after a transaction that is about to be committed.
func (p *pending) announce(h homeSums) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming = h
}

// arrived records that the announced transaction is committed.
func (p *pending) arrived() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.home = p.coming
}

func (p *pending) durable() multipaxos.Durable {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.marks
}

func (p *pending) size() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.bytes
}

// last returns the number of the last record.
func (p *pending) last() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.number
}

// has reports whether the record of that number is pending.
func (p *pending) has(number uint64) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.records) > 0 && number >= p.first
}

// add adds a record that is durable at its place in the journal. It returns how many bytes are pending now.
func (p *pending) add(r *journal.Record, at journal.Place) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marks, p.number = r.Marks, r.Number
	if len(p.records) == 0 {
		p.first = r.Number
	}
	p.records = append(p.records, pendingRecord{Place: at})
	p.bytes += at.Bytes()
	for i := range r.Entries {
		p.put(pendingEntry{r.Entries[i].Slot, r.Number, uint32(len(r.Entries[i].Value))})
	}
	p.forget(r.Marks.Truncated)
	return p.bytes
}

func (p *pending) put(e pendingEntry) {
	p.record(e.number).live++
	n := len(p.entries)
	if n == 0 || p.entries[n-1].slot < e.slot {
		p.entries = append(p.entries, e)
		return
	}
	i, there := p.find(e.slot)
	if !there {
		p.entries = slices.Insert(p.entries, i, e)
		return
	}
	p.record(p.entries[i].number).live--
	p.entries[i] = e
}

// forget drops the entries through a slot, which is truncated.
func (p *pending) forget(through multipaxos.Slot) {
	n := 0
	for ; n < len(p.entries) && p.entries[n].slot <= through; n++ {
		p.record(p.entries[n].number).live--
	}
	p.entries = p.entries[n:]
}

func (p *pending) record(number uint64) *pendingRecord { return &p.records[number-p.first] }

// find returns where a slot is or would be.
func (p *pending) find(slot multipaxos.Slot) (int, bool) {
	return slices.BinarySearchFunc(p.entries, slot,
		func(e pendingEntry, s multipaxos.Slot) int { return cmp.Compare(e.slot, s) })
}

// view opens a view of db and gives m the pending entries that it may need, as of the same moment. An entry that moves
// to db meanwhile is seen in one of the two at least.
func (p *pending) view(db *bolt.DB, m *merger) (*bolt.Tx, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	tx, err := db.Begin(false)
	if err != nil {
		return nil, err
	}
	switch uint64(tx.ID()) {
	case p.home.txid:
		m.home = p.home.sums
	case p.coming.txid:
		m.home = p.coming.sums
	default: // bbolt takes the older of two meta pages if the newer one is damaged
		tx.Rollback()
		return nil, fmt.Errorf("%w: the meta page of transaction %d", disk.ErrChanged, p.home.txid)
	}
	m.from = max(m.from, p.marks.Truncated+1)
	i, _ := p.find(m.from)
	for size := 0; i < len(p.entries) && p.entries[i].slot <= m.through; i++ {
		e := p.entries[i]
		m.recent = append(m.recent, located{e, p.record(e.number).Place})
		if size += int(e.bytes); size >= m.maxBytes {
			break
		}
	}
	return tx, nil
}

// located is a pending entry and where its record lies.
type located struct {
	pendingEntry
	at journal.Place
}

// batch is what a transaction of log.db takes of what is pending: the records through a number.
type batch struct {
	through uint64
	at      journal.Place // of the record of that number
	all     bool          // no record follows it
	marks   multipaxos.Durable
	records int
	bytes   int64
	entries []located // those of these records, by rising slot
}

// collect returns the first records that are pending: as many as take the given number of bytes, and those behind them
// of which no entry is left. The entries are appended to buf.
func (p *pending) collect(bytes int64, buf []located) batch {
	p.mu.RLock()
	defer p.mu.RUnlock()
	b := batch{through: p.number, all: true, marks: p.marks, entries: buf[:0]}
	live := 0
	for i := range p.records {
		r := &p.records[i]
		if b.bytes >= bytes && r.live > 0 {
			b.all = false
			break
		}
		b.records, b.at, b.bytes = i+1, r.Place, b.bytes+r.Bytes()
		live += int(r.live)
	}
	if !b.all {
		b.through = p.first + uint64(b.records) - 1
	}
	for i := 0; live > 0; i++ {
		if e := p.entries[i]; e.number <= b.through {
			b.entries = append(b.entries, located{e, p.record(e.number).Place})
			live--
		}
	}
	return b
}

// drop forgets the records of b, whose entries log.db has now. It calls published before any reader can see that.
func (p *pending) drop(b *batch, published func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	published()
	p.bytes -= b.bytes
	p.records, p.first = p.records[b.records:], p.first+uint64(b.records)
	gone := func(e pendingEntry) bool { return e.number <= b.through }
	n := 0
	for n < len(p.entries) && gone(p.entries[n]) { // mostly these are all
		n++
	}
	p.entries = slices.DeleteFunc(p.entries[n:], gone)
}
