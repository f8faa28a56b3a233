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

// pending is what the journal holds and log.db does not, in memory: an overlay over log.db. The ring bounds it.
type pending struct {
	mu      sync.RWMutex
	marks   multipaxos.Durable // of the log, with all of it
	number  uint64             // of the last record
	bytes   int64              // that the records take in the ring
	entries []pendingEntry     // the last write of each slot, by rising slot
	home    homeSums           // of the entries in log.db
	coming  homeSums           // likewise, once the transaction that is being committed is there
}

// homeSums has the checksums of the entries in log.db as of a transaction.
type homeSums struct {
	txid uint64
	sums *slotSums
}

type pendingEntry struct {
	multipaxos.Entry
	number uint64 // of its record
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

// last returns the number of the last record, and whether it or any before it is pending.
func (p *pending) last() (number uint64, any bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.number, p.bytes > 0
}

// add adds a record that is durable in the journal. It returns how many bytes were pending before and are now.
func (p *pending) add(r *journal.Record) (before, after int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before = p.bytes
	p.marks, p.number = r.Marks, r.Number
	p.bytes += int64(journal.Size(r))
	for i := range r.Entries {
		p.put(pendingEntry{r.Entries[i], r.Number})
	}
	return before, p.bytes
}

func (p *pending) put(e pendingEntry) {
	n := len(p.entries)
	if n == 0 || p.entries[n-1].Slot < e.Slot {
		p.entries = append(p.entries, e)
		return
	}
	if i, there := p.find(e.Slot); there {
		p.entries[i] = e
	} else {
		p.entries = slices.Insert(p.entries, i, e)
	}
}

// find returns where a slot is or would be.
func (p *pending) find(slot multipaxos.Slot) (int, bool) {
	return slices.BinarySearchFunc(p.entries, slot,
		func(e pendingEntry, s multipaxos.Slot) int { return cmp.Compare(e.Slot, s) })
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
	for size := 0; i < len(p.entries) && p.entries[i].Slot <= m.through; i++ {
		m.recent = append(m.recent, p.entries[i].Entry)
		if size += len(p.entries[i].Value); size >= m.maxBytes {
			break
		}
	}
	return tx, nil
}

// batch is what is pending at one moment.
type batch struct {
	marks   multipaxos.Durable
	number  uint64
	bytes   int64
	entries []multipaxos.Entry // those that are not truncated, by rising slot
}

// collect copies what is pending, the entries into buf.
func (p *pending) collect(buf []multipaxos.Entry) batch {
	p.mu.RLock()
	defer p.mu.RUnlock()
	b := batch{marks: p.marks, number: p.number, bytes: p.bytes, entries: buf[:0]}
	from, _ := p.find(p.marks.Truncated + 1)
	for i := from; i < len(p.entries); i++ {
		b.entries = append(b.entries, p.entries[i].Entry)
	}
	return b
}

// drop forgets the entries of b, which log.db has now. It calls published before any reader can see that.
func (p *pending) drop(b *batch, published func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	published()
	p.bytes -= b.bytes
	p.entries = slices.DeleteFunc(p.entries, func(e pendingEntry) bool { return e.number <= b.number })
}
