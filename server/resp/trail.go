package resp

import (
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// trail adds lines about the client of one connection to the audit log.
type trail struct {
	began  time.Time // when the commands came that are being carried out
	fence  string    // under which the command that is being run writes, and its token
	client *store
}

// batch adds those commands of b that write, each as a line. Their steps, behind so many checks, came to results; err
// is why they have none.
func (t *trail) batch(b *batch, checks int, results []result, err error) {
	if !t.client.Recorded() || b.writes == 0 {
		return
	}
	steps := b.steps[checks:]
	if err != nil {
		results = nil
	}
	if len(b.ops) == 0 { // one command that has carried itself out
		t.command(b.name, steps, results, err)
		return
	}
	some := len(results) > 0
	for i := range b.ops {
		o := &b.ops[i]
		if some && len(results) < o.steps {
			return // it is not carried out yet
		}
		t.command(o.name, steps[:o.steps], results[:min(o.steps, len(results))], err)
		steps, results = steps[o.steps:], results[min(o.steps, len(results)):]
	}
}

// command adds a command, if one of its steps writes.
func (t *trail) command(name string, steps []kv.Command, results []result, err error) {
	if !t.client.Recorded() {
		return
	}
	l, acts := service.NewLine(), false
	for i := range steps {
		acts = l.AboutCommand(&steps[i]) || acts
	}
	if !acts {
		return
	}
	l.Under(t.fence)
	if err != nil {
		l.FailedBy(err)
	} else {
		t.cameTo(&l, results)
	}
	t.add(&l, name)
}

// turnedAway adds a command that is not looked at; steps is what it would have done, as far as that can be told.
func (t *trail) turnedAway(name string, steps []kv.Command, err error) {
	l := service.NewLine()
	for i := range steps {
		l.AboutCommand(&steps[i])
	}
	l.FailedBy(err)
	t.add(&l, name)
}

// lease adds a command that changes a lease; err is why the command failed.
func (t *trail) lease(command, name string, err error) {
	l := service.NewLine()
	if l.About(name); err != nil {
		l.FailedBy(err)
	}
	t.add(&l, command)
}

// refused adds a command that was refused before its keys were parsed.
func (t *trail) refused(name string, err error) {
	l := service.NewLine()
	l.FailedBy(err)
	t.add(&l, name)
}

// add adds a line about a command of the client.
func (t *trail) add(l *service.Line, command string) {
	t.client.Record(l, "redis."+command, t.began)
}

// cameTo notes what a command came to whose steps have these results. One that was done in part was done, and its code
// says why the rest was not.
func (t *trail) cameTo(l *service.Line, results []result) {
	done, code := outcomeOf(results)
	if !done {
		l.Failed(code)
		return
	}
	l.DoneBut(code)
	l.At(t.client.revision)
}

// outcomeOf returns whether any of the steps was done, and the code of the first that was not. Without results they
// were applied before, and nobody remembers with what result.
func outcomeOf(results []result) (done bool, code api.Code) {
	done = len(results) == 0
	for _, r := range results {
		switch {
		case r.err == nil && r.code == kv.CodeDone:
			done = true
		case code != "":
		case r.err != nil:
			code = service.CodeInLine(r.err)
		default:
			code = service.CodeOfResult(r.code)
		}
	}
	return done, code
}
