// Package load writes many records into a cluster, each exactly once, however often connections break.
//
//	load.go    Run: sends batches, several at a time
//	batch.go   groups records into batches
//	write.go   writes one batch
//	resume.go  Resume: the text with which a later run continues
//
// Records become batches, in their order: transactions of at most client.MaxTxnOps operations, or single writes. The
// division into batches depends on the records alone, so a run over the same records has the same batches, and batch n
// has the idempotency key RUN-n-0. A run that ends early knows its batches of unknown outcome. The run that resumes it
// sends them again under their keys, with the base of their first tries, and continues behind the last batch.
//
// Several batches are in flight at a time as long as keys ascend. A batch with a key that is not above all earlier keys
// waits for the earlier batches, so that the last record of a key wins.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/internal/records"
)

// Concurrency bounds the batches in flight.
const Concurrency = 8

// Conflict says what to do with a key that exists.
type Conflict string

// The conflict policies: replace the key, leave it alone, or end the run with ErrExists.
const (
	Overwrite Conflict = "overwrite"
	Skip      Conflict = "skip"
	Fail      Conflict = "fail"
)

// ErrExists is wrapped by the error of a run that Fail has ended.
var ErrExists = errors.New("the key exists already")

// Store is what Run uses of a client.Client.
type Store interface {
	Set(ctx context.Context, key string, value []byte, o client.WriteOptions) (uint64, error)
	CompareAndSet(ctx context.Context, key string, value []byte, index uint64, o client.WriteOptions) (uint64, error)
	Txn(ctx context.Context, ops []client.TxnOp, o client.WriteOptions) (client.TxnResult, error)
}

// Config configures a Run.
type Config struct {
	Store    Store
	Next     func() (records.Record, error) // the next record, or io.EOF
	Distinct bool                           // no key comes twice: batches need not wait for each other
	Conflict Conflict
	Resume   Resume        // NewResume for a run from the beginning
	Wait     time.Duration // for the outcome of a batch, through failures of nodes
	Progress func(n int)   // called when so many records more are settled; may be nil
}

// Result has the numbers of records by outcome.
type Result struct {
	Written int // by this run, or by an earlier one whose outcome this one learned
	Skipped int // because they existed
	Before  int // settled by the runs that this one resumes
	Unknown int // written or not
	// Resume continues with all batches that are not settled. It is nil if there are none.
	Resume *Resume
}

// run is the state of a Run.
type run struct {
	Config
	ctx    context.Context
	places chan struct{}

	sums summer // of the batches that were read

	mu      sync.Mutex
	result  Result
	left    []Left
	base    uint64
	failure error
}

// Run writes the records until io.EOF or the first error, and waits for the batches in flight. The error wraps an error
// of package client, ErrExists, or the error of Next.
func Run(ctx context.Context, c Config) (Result, error) {
	r := &run{Config: c, ctx: ctx, places: make(chan struct{}, Concurrency), sums: newSummer(c.Conflict)}
	next, sum, err := r.feed()
	r.wait()
	if r.failure != nil {
		err = r.failure
	}
	if err != nil && !errors.Is(err, ErrExists) {
		slices.SortFunc(r.left, func(a, b Left) int { return a.N - b.N })
		r.result.Resume = &Resume{Run: c.Resume.Run, Base: r.base, Next: next, Sum: sum, Left: r.left}
	}
	return r.result, err
}

// ErrOther says that the records differ from those that the run to resume had read. Nothing was written.
var ErrOther = errors.New("this is not what the import to resume has read: give the same FILE and the same flags")

// feed reads batches and starts to settle them. It returns the first batch that was never sent, here or by the run to
// resume, and the sum of those before it.
func (r *run) feed() (next int, sum Sum, err error) {
	in := batcher{next: r.Next}
	if err := r.repeat(&in); err != nil {
		return r.Resume.Next, r.Resume.Sum, err
	}
	for n := r.Resume.Next; ; n++ {
		b, err := in.batch(n)
		if err == nil {
			err = r.send(b, Left{N: n})
		}
		if err == io.EOF {
			return n, r.sums.sum(), nil
		}
		if err != nil {
			return n, r.sums.sum(), err
		}
		r.sums.add(b.records)
	}
}

// repeat reads what the run to resume had sent, and then, if it is the same, sends again what that had left.
func (r *run) repeat(in *batcher) error {
	var again []batch
	settled := 0
	for n := range r.Resume.Next {
		b, err := in.batch(n)
		if err == io.EOF {
			err = ErrOther
		}
		if err != nil {
			r.keep(r.Resume.Left)
			return err
		}
		if r.Resume.left(n) {
			again = append(again, b)
		} else {
			settled += len(b.records)
		}
		r.sums.add(b.records)
	}
	if r.Resume.Next > 0 && r.sums.sum() != r.Resume.Sum {
		r.keep(r.Resume.Left)
		return ErrOther
	}
	r.settledBefore(settled)
	for i, b := range again {
		if err := r.send(b, r.Resume.Left[i]); err != nil {
			r.keep(r.Resume.Left[i:])
			return err
		}
	}
	return nil
}

// send starts to settle a batch, once there is a place for it.
func (r *run) send(b batch, l Left) error {
	if b.alone && !r.Distinct {
		r.wait()
	}
	if !r.place() {
		return cmp.Or(r.ctx.Err(), errStopped)
	}
	go r.settle(b, l)
	return nil
}

// errStopped ends the reading after the failure of a batch, which is what Run returns.
var errStopped = errors.New("another batch has failed")

// keep notes batches of the run to resume that were not sent again.
func (r *run) keep(list []Left) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range list {
		r.leave(l, r.Resume.Base)
	}
}

// settledBefore counts records that an earlier run has settled.
func (r *run) settledBefore(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Before += n
	if r.Progress != nil {
		r.Progress(n)
	}
}

// place waits until another batch may be in flight. It returns false if the run ends.
func (r *run) place() bool {
	select {
	case r.places <- struct{}{}:
	case <-r.ctx.Done():
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil || r.ctx.Err() != nil {
		<-r.places
		return false
	}
	return true
}

// wait waits until no batch is in flight.
func (r *run) wait() {
	for range cap(r.places) {
		r.places <- struct{}{}
	}
	for range cap(r.places) {
		<-r.places
	}
}

// settle writes a batch and records its outcome.
func (r *run) settle(b batch, l Left) {
	defer func() { <-r.places }()
	ctx, cancel := context.WithTimeout(r.ctx, r.Wait)
	defer cancel()
	skipped, err := r.write(ctx, b.records, r.Resume.once(l))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.result.Written += len(b.records) - skipped
		r.result.Skipped += skipped
		if r.Progress != nil {
			r.Progress(len(b.records))
		}
		return
	}
	unknown := errors.Is(err, client.ErrUnknown)
	var e *client.Error
	if unknown && errors.As(err, &e) {
		r.result.Unknown += len(b.records)
		r.leave(Left{N: l.N, Key: l.Key, Doubt: true}, e.Once.Base)
	} else {
		r.leave(Left{N: l.N, Key: l.Key + 1}, 0)
	}
	if r.failure == nil || unknown && !errors.Is(r.failure, client.ErrUnknown) {
		first, last := b.records[0].Key, b.records[len(b.records)-1].Key
		r.failure = fmt.Errorf("keys %.60q to %.60q: %w", first, last, err)
	}
}

// leave records a batch for the run that resumes this one. base is the base of its first try, if it is in doubt.
func (r *run) leave(l Left, base uint64) {
	r.left = append(r.left, l)
	if l.Doubt && (r.base == 0 || base < r.base) {
		r.base = base
	}
}
