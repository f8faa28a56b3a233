package resp

import (
	"errors"

	"tenure/kv"
	"tenure/server/access"
	"tenure/server/resp/proto"
)

// maxDecisions bounds how often one batch is decided about: permissions may change each time.
const maxDecisions = 8

// carryOut carries out the batch. Denied commands in it get their errors, and the others are carried out.
func (x *executor) carryOut() error {
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
		if !isDenied(err) {
			return err
		}
		if left := x.leaveOut(err); left == 0 && errors.Is(err, access.ErrUnsure) {
			return err // it was allowed; whether it still is nobody can say
		}
	}
	return errAlwaysNew
}

// leaveOut removes the commands from the batch that are not allowed, replies their errors, and returns their number.
// denied is the error for the batch. Before that error this node has caught up with the master, unless denied is
// ErrUnsure.
func (x *executor) leaveOut(denied error) (n int) {
	b := x.batch
	all := b.steps
	defer func() { clear(all[len(b.steps):]) }()
	left := all
	b.steps, b.writes, b.bytes = all[:0], 0, 0
	for i := range b.ops {
		o := &b.ops[i]
		steps := left[:o.steps]
		left = left[o.steps:]
		if len(steps) == 0 {
			continue
		}
		err := x.to.mayNow(steps)
		if err == nil {
			for _, s := range steps {
				b.step(s)
			}
			continue
		}
		if errors.Is(denied, access.ErrUnsure) {
			err = denied
		}
		x.trail.command(o.name, steps, nil, err)
		b.refuse(o, errorText(err))
		n++
	}
	return n
}

// refuse gives a command a reply that is an error, in the place of its steps.
func (b *batch) refuse(o *op, text string) {
	w := proto.Writer{V3: b.v3}
	w.Error(text)
	*o = op{name: o.name, from: len(b.ready)}
	b.ready = append(b.ready, w.Bytes()...)
	o.to = len(b.ready)
}

// mayQueue decides about a command queued for EXEC, by its present steps. EXEC decides again. denied: another command
// of the transaction was denied already.
func (x *executor) mayQueue(cmd *command, args [][]byte, denied bool) error {
	if x.to.decider == nil || cmd.steps == nil {
		return nil
	}
	b := batch{maxValueBytes: x.batch.maxValueBytes}
	cmd.steps(&b, args) // what is wrong with the arguments EXEC says
	steps := b.steps
	if len(steps) == 0 {
		return nil
	}
	var err error
	if denied { // this node has caught up for that, and nothing is applied any more
		err = x.to.mayNow(steps)
	} else {
		err = x.to.mayWrite(&kv.Command{Op: kv.OpSequence, Parts: steps})
	}
	if isDenied(err) {
		x.trail.command(cmd.name, steps, nil, err)
	}
	return err
}
