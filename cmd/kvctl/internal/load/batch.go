package load

import (
	"io"

	"tenure/client"
	"tenure/cmd/kvctl/internal/records"
)

// maxBatchBytes bounds the values of a transaction: below what any cluster accepts by default, and small enough that
// eight of them do not hold up the writes of others.
const maxBatchBytes = 64 << 10

// batch is the records of one transaction or single write.
type batch struct {
	n       int
	records []records.Record
	alone   bool // must wait for the earlier batches: a key is not above all of theirs
}

// batcher makes batches of records.
type batcher struct {
	next    func() (records.Record, error)
	pending *records.Record // was read and did not fit into the last batch
	err     error           // the error of next
	highest string
}

// batch returns the next batch, with number n. It does not return a batch that an error of next cuts short: when the
// error is corrected, the batch has more records.
func (b *batcher) batch(n int) (batch, error) {
	out := batch{n: n}
	size := 0
	begun := b.highest
	for {
		r, err := b.take()
		if err == io.EOF && len(out.records) > 0 {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		single := r.TTL > 0 || len(r.Value) > maxBatchBytes // a transaction has no place for a TTL
		full := len(out.records) == client.MaxTxnOps || size+len(r.Value) > maxBatchBytes
		if len(out.records) > 0 && (single || full) {
			b.pending = &r
			return out, nil
		}
		out.records = append(out.records, r)
		out.alone = out.alone || r.Key <= begun
		b.highest = max(b.highest, r.Key)
		size += len(r.Value)
		if single {
			return out, nil
		}
	}
}

// take returns the pending record, or the next one.
func (b *batcher) take() (records.Record, error) {
	if r := b.pending; r != nil {
		b.pending = nil
		return *r, nil
	}
	if b.err != nil {
		return records.Record{}, b.err
	}
	r, err := b.next()
	b.err = err
	return r, err
}
