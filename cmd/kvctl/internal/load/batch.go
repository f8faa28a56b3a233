package load

import (
	"io"

	"tenure/client"
	"tenure/cmd/kvctl/internal/records"
)

// maxBatchBytes bounds the values of a transaction: below what any cluster accepts by default, and small enough that
// eight of them do not hold up the writes of others.
const maxBatchBytes = 64 << 10

// batch is what is written at one revision.
type batch struct {
	n       int
	records []records.Record
	alone   bool // a key is not above all of the batches before: it waits for them
}

// batcher makes batches of records.
type batcher struct {
	next    func() (records.Record, error)
	pending *records.Record // was read, and did not fit
	err     error           // that ended the records
	highest string
}

// batch returns the next batch, number n. A batch that an error of next would cut short is not returned: with the error
// mended it has more records.
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

// take returns the record that is pending, or the next one.
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
