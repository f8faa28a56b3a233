package resp

import (
	"errors"

	"tenure/kv"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// leaveOutDenied removes the commands that are not allowed; see leaveOut. denied is the error for the batch.
func (x *executor) leaveOutDenied(denied error) (n int) {
	return x.leaveOut(func(steps []kv.Command) error { return x.mayAfter(denied, steps) })
}

// mayAfter decides about steps after others were denied. Before that error this node has caught up with the master,
// unless denied is ErrUnsure: then nobody can say more about these either.
func (x *executor) mayAfter(denied error, steps []kv.Command) error {
	err := x.to.mayNow(steps)
	if err != nil && errors.Is(denied, service.ErrUnsure) {
		return denied
	}
	return err
}

// leaveOut removes the commands from the batch for whose steps why returns an error, replies these errors, and returns
// the number of those commands.
func (x *executor) leaveOut(why func(steps []kv.Command) error) (n int) {
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
		err := why(steps)
		if err == nil {
			for _, s := range steps {
				b.step(s)
			}
			continue
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

// mayQueue decides about a command queued for EXEC, by its present steps. EXEC decides again. denied is the error of a
// command of the transaction that was denied already, after which nothing is applied any more; nil if there is none.
func (x *executor) mayQueue(cmd *command, steps []kv.Command, denied error) error {
	if !x.to.Decides() || len(steps) == 0 {
		return nil
	}
	var err error
	if denied != nil {
		err = x.mayAfter(denied, steps)
	} else {
		err = x.to.mayWrite(&kv.Command{Op: kv.OpSequence, Parts: steps})
	}
	if service.IsDenied(err) {
		x.trail.command(cmd.name, steps, nil, err)
	}
	return err
}
