package resp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
)

// executor carries out the batch of one connection, and keeps the results of the steps until the replies are written.
type executor struct {
	batch   *batch
	results []result
	held    holding
	took    slow.Request // where the time of the newest write went
	// doubtful: the outcome of the last write is unknown
	doubtful bool

	to    *store
	trail *trail
	slow  *slow.Log
}

// forget forgets the batch and its results, so that a connection that asks for nothing keeps no values.
func (x *executor) forget() {
	x.batch.reset()
	x.dropResults(0)
	x.held.letGo()
}

// dropResults keeps the first n results only: the space of the others is used again, and must not keep their values.
func (x *executor) dropResults(n int) {
	clear(x.results[n:])
	if x.results = x.results[:n]; n == 0 {
		x.results = kept(x.results)
	}
}

// kept returns an empty list, with its space unless that is more than most batches need.
func kept[T any](list []T) []T {
	if cap(list) > 2*maxSteps {
		return nil
	}
	return list[:0]
}

// maxDecisions bounds how often one batch is decided about: permissions may change each time.
const maxDecisions = 8

// carryOut carries out the batch. Denied commands in it get their errors, and the others are carried out.
func (x *executor) carryOut() error {
	began, commands := time.Now(), len(x.batch.ops)
	defer func() { x.slow.Served(commands, time.Since(began)) }()
	for range maxDecisions {
		x.dropResults(0)
		var err error
		switch b := x.batch; {
		case len(b.steps) == 0:
		case b.writes == 0:
			err = x.read()
		default:
			err = x.write()
		}
		switch {
		case errors.Is(err, kv.ErrCommand):
			if x.leaveOut(validate) == 0 {
				return err
			}
		case !service.IsDenied(err):
			return err
		case x.leaveOutDenied(err) == 0 && errors.Is(err, service.ErrUnsure):
			return err // it was allowed; whether it still is nobody can say
		}
	}
	return service.ErrAlwaysNew
}

// write carries out a batch that writes, as one command of the log. If the values that it reads have no space in one
// result, the results are those of the first commands.
func (x *executor) write() error {
	c := asOne(x.batch.steps)
	r, err := x.apply(c)
	switch {
	case err == nil:
		err = x.stepsOf(&c, &r, 0)
	case errors.Is(err, service.ErrNoSpace):
		err = x.writeWithoutSpace(err)
	}
	if err != nil {
		return err
	}
	n := x.batch.wholeOps(len(x.results))
	if x.dropResults(n); n > 0 {
		return nil
	}
	return x.readFirst()
}

// writeWithoutSpace carries out those steps of a batch that go on while space is short, and refuses the others with
// full.
func (x *executor) writeWithoutSpace(full error) error {
	all := x.batch.steps
	var some []kv.Command
	for i := range all {
		if all[i].GoesOnFull() {
			some = append(some, all[i])
		}
	}
	if len(some) == 0 || len(some) == len(all) {
		return full
	}
	c := asOne(some)
	r, err := x.apply(c)
	if err != nil {
		return err
	}
	x.batch.steps = some
	err = x.stepsOf(&c, &r, 0)
	x.batch.steps = all
	done := x.results
	x.results = make([]result, 0, len(all))
	for i := range all {
		switch {
		case !all[i].GoesOnFull():
			x.results = append(x.results, result{err: full})
		case len(done) > 0:
			x.results, done = append(x.results, done[0]), done[1:]
		default: // the rest is left out
			return err
		}
	}
	return err
}

// stepsOf reads the results of the batch's steps, which are behind so many checks, as far as there are any in r, the
// result of c. After an error nobody knows what was done.
func (x *executor) stepsOf(c *kv.Command, r *kv.Result, checks int) error {
	n := len(x.batch.steps) - checks
	x.held.hold(len(r.Body)) // what was written is told, whatever waits on this node
	if c.Op != kv.OpSequence {
		x.results = append(x.results, result{code: r.Code, count: r.Count, body: r.Body})
		return nil
	}
	if r.Code != kv.CodeDone { // the same for all of them
		x.results = append(x.results, slices.Repeat([]result{{code: r.Code}}, n)...)
		return nil
	}
	if r.Count > uint64(n) {
		return service.InDoubt(fmt.Errorf("%w: of %d steps %d are left out", kv.ErrBody, n, r.Count))
	}
	n -= int(r.Count)
	steps := kv.StepsOf(r)
	for range n {
		s, err := steps.Next()
		if err != nil {
			return service.InDoubt(err)
		}
		x.to.Hide(&s)
		x.results = append(x.results, result{code: s.Code, count: s.Count, body: s.Body})
	}
	for i := range x.results {
		if r := &x.results[i]; x.batch.steps[checks+i].Op == kv.OpMeasure {
			ttl, _ := binary.Uvarint([]byte(r.body)) // 0 without one
			r.ttl = time.Duration(ttl)
		}
	}
	x.awaitTimers()
	return nil
}

// awaitTimers waits until this node has applied what the batch has written, if a reply says how long a key has left:
// its own timers know that.
func (x *executor) awaitTimers() {
	if !x.batch.timed {
		return
	}
	_, err := x.to.Revision()
	if err == nil {
		return
	}
	for i := range x.results {
		if r := &x.results[i]; r.ttl > 0 {
			r.err = err
		}
	}
}

// atomically carries out the batch in one state, without other clients' commands between. The first checks steps of the
// batch are checks. x.results are the results of the other steps.
func (x *executor) atomically(checks int) error {
	err := x.inOneState(checks)
	x.trail.batch(x.batch, checks, x.results, err)
	return err
}

// errChanged: a key that was watched has changed.
var errChanged = service.Refuse(api.CodeCondition, "a watched key has changed")

// undoneError is why nothing of a transaction was applied: a step of it was refused for its size or for space.
type undoneError struct{ step result }

func (e *undoneError) Error() string {
	text, _ := refusalText(e.step)
	if e.step.code == kv.CodeTooLarge {
		text += "; or the replies of a transaction that writes have more than 16 MiB together"
	}
	return text
}

// APICode returns the code of what was refused.
func (e *undoneError) APICode() api.Code { return service.CodeOfResult(e.step.code) }

func (x *executor) inOneState(checks int) error {
	b := x.batch
	x.dropResults(0)
	if len(b.steps) == 0 {
		return nil
	}
	if checks == 0 && b.writes == 0 {
		return x.readWhole()
	}
	c := kv.Command{Op: kv.OpSequence, Mode: kv.ModeWhole, Parts: b.steps}
	r, err := x.apply(c)
	switch {
	case err != nil:
		return err
	case r.Code == kv.CodeCondition:
		return errChanged
	case r.Code == kv.CodeQuota, r.Code == kv.CodeFull, r.Code == kv.CodeTooLarge:
		return &undoneError{result{code: r.Code, count: r.Count, body: r.Body}}
	}
	return x.stepsOf(&c, &r, checks)
}

// apply has a command applied, and notes whether the outcome of the connection's last write is unknown.
func (x *executor) apply(cmd kv.Command) (kv.Result, error) {
	asked := time.Now()
	x.took = slow.Request{}
	r, err := x.to.Write(cmd, &x.took.Write)
	x.took.Store = time.Since(asked)
	x.slow.Done(x.took.Store, &x.took, func(e *zerolog.Event) {
		e.Str("redis", x.batch.name).Int("commands", len(x.batch.ops)).Str("client", x.to.Bounds.From())
	})
	switch {
	case err == nil:
		x.doubtful = service.MayBeApplied(r.Code)
	case service.IsUnknown(err):
		x.doubtful = true
	}
	return r, err
}
