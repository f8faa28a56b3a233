package workload

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tenure/client"
	"tenure/jepsen/history"
)

// respOps are the operations over the Redis protocol. Their results have no index of a key, unless they ask for it.
type respOps struct {
	*recorder
	to *resp
}

// one runs and records one command.
func (r *respOps) one(op history.Op, take func(*history.Op, respReply) error, command ...string) history.Op {
	return r.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := r.ask(ctx, op, command)
		if err == nil {
			err = a[0].err
		}
		if err == nil {
			err = take(op, a[0])
		}
		return err
	})
}

// ask sends commands and notes the place of the first on its connection.
func (r *respOps) ask(ctx context.Context, op *history.Op, commands ...[]string) ([]respReply, error) {
	if err := r.to.connect(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrNotApplied, err)
	}
	op.Via, op.Order = r.to.via, r.to.sent+1
	return r.to.pipeline(ctx, commands...)
}

func tookNothing(*history.Op, respReply) error { return nil }

func tookValue(op *history.Op, a respReply) error {
	if op.Absent = a.null; !a.null {
		op.Value = a.text
	}
	return nil
}

func (r *respOps) get(key string) history.Op {
	return r.one(history.Op{Kind: history.Get, Key: key, Mode: r.mode()}, tookValue, "GET", key)
}

func (r *respOps) mode() string {
	if r.to.consistent {
		return "consistent"
	}
	return "default"
}

func (r *respOps) put(key, value string) history.Op {
	return r.one(history.Op{Kind: history.Put, Key: key, Value: value}, tookNothing, "SET", key, value)
}

func (r *respOps) delete(key string) history.Op {
	return r.one(history.Op{Kind: history.Delete, Key: key}, tookNothing, "DEL", key)
}

// swap writes a key if it holds a value, or with "" if it is absent.
func (r *respOps) swap(key, from, value string) history.Op {
	command := []string{"SET", key, value, "IFEQ", from}
	if from == "" {
		command = []string{"SET", key, value, "NX"}
	}
	op := history.Op{Kind: history.Swap, Key: key, Value: value, Extra: history.Extra{Redis: history.Redis{From: from}}}
	return r.one(op, func(op *history.Op, a respReply) error { op.Matched = !a.null; return nil }, command...)
}

// increment adds 1.
func (r *respOps) increment(key string) history.Op {
	return r.one(history.Op{Kind: history.Incr, Key: key}, tookNumber, "INCR", key)
}

func tookNumber(op *history.Op, a respReply) error {
	op.Value = strconv.FormatInt(a.number, 10)
	return nil
}

const (
	onceTries = 8 // of one increment
	onceRest  = 20 * time.Millisecond
)

// incrementOnce adds 1, and repeats that over new connections and other nodes until it is answered. Some connections it
// breaks itself before the answer can come. base is a revision that was seen before.
func (r *respOps) incrementOnce(key, idempotency string, base int64, breaks func() bool) history.Op {
	command := []string{"TENURE.ONCE", idempotency, strconv.FormatInt(base, 10), "INCR", key}
	patient := &recorder{id: r.id, timeout: onceTries * r.timeout, rec: r.rec}
	return patient.do(history.Op{Kind: history.Incr, Key: key}, func(all context.Context, op *history.Op) (err error) {
		maybe := false
		for op.Tries = 1; ; op.Tries++ {
			ctx, cancel := context.WithTimeout(all, r.timeout)
			var a []respReply
			if breaks() && op.Tries < onceTries {
				r.to.abandon(ctx, command)
				err = client.ErrUnknown
			} else if a, err = r.ask(ctx, op, command); err == nil {
				err = a[0].err
			}
			cancel()
			if err == nil {
				return tookNumber(op, a[0])
			}
			maybe = maybe || !errors.Is(err, client.ErrNotApplied)
			if op.Tries == onceTries || all.Err() != nil {
				break
			}
			time.Sleep(onceRest)
		}
		if maybe {
			err = fmt.Errorf("%w: %w", client.ErrUnknown, err)
		}
		return err
	})
}

// revision returns the revision of the whole store, 0 if no node tells.
func (r *respOps) revision() int64 {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	a, err := r.to.pipeline(ctx, []string{"TENURE.REVISION"})
	if err != nil || a[0].err != nil {
		return 0
	}
	return a[0].number
}

// watched reads a key and writes what next makes of its value, unless somebody else has written it since: by WATCH, GET,
// MULTI, SET and EXEC. The read is an operation of its own.
func (r *respOps) watched(key string, next func(value string) string) {
	read := r.do(history.Op{Kind: history.Get, Key: key, Mode: r.mode()}, func(ctx context.Context, op *history.Op) error {
		a, err := r.ask(ctx, op, []string{"WATCH", key}, []string{"GET", key})
		switch {
		case err != nil:
			return err
		case a[0].err != nil:
			return a[0].err
		case a[1].err != nil:
			return a[1].err
		}
		return tookValue(op, a[1])
	})
	if read.Outcome != history.OK || r.to.net == nil || r.to.via != read.Via {
		return
	}
	op := history.Op{Kind: history.Swap, Key: key, Value: next(read.Value), Extra: history.Extra{Redis: history.Redis{From: read.Value}}}
	r.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := r.ask(ctx, op, []string{"MULTI"}, []string{"SET", key, op.Value}, []string{"EXEC"})
		switch {
		case err != nil:
			return err
		case a[2].err != nil:
			return a[2].err
		case a[2].null: // maybe it was changed before it was read: so that this says nothing about its value
			return fmt.Errorf("%w: the watched key has changed", client.ErrNotApplied)
		case len(a[2].list) == 1 && a[2].list[0].err != nil:
			return a[2].list[0].err
		case len(a[2].list) != 1:
			return fmt.Errorf("%w: EXEC replied %v", client.ErrUnknown, a[2].list)
		}
		op.Matched = true
		return nil
	})
}

// pipelined sends commands in one write and records an operation each.
func (r *respOps) pipelined(ops []history.Op, commands [][]string) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	if err := r.to.connect(ctx); err != nil {
		time.Sleep(time.Millisecond)
		return
	}
	via, first, call := r.to.via, r.to.sent+1, r.rec.Now()
	replies, err := r.to.pipeline(ctx, commands...)
	end := r.rec.Now()
	for i, op := range ops {
		op.Client, op.Call, op.Return = r.id+i*batchClients, call, end
		op.Via, op.Order = via, first+i
		told := err
		if i < len(replies) {
			if told = replies[i].err; told == nil {
				takeOf(&op, replies[i])
			}
		}
		if op.Outcome = outcome(told); told != nil {
			op.Error = errorText(told)
		}
		r.rec.Add(op)
	}
	if len(replies) > 0 && errors.Is(replies[0].err, client.ErrNotApplied) {
		time.Sleep(time.Millisecond)
	}
}

func takeOf(op *history.Op, a respReply) {
	if op.Kind == history.Append {
		op.Size = int(a.number)
		return
	}
	_ = tookValue(op, a)
}
