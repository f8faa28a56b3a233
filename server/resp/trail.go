package resp

import (
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/audit"
	"tenure/server/service"
)

// trail adds lines about the client of one connection to the audit log.
type trail struct {
	log    *audit.Log // nil: there is none
	from   string     // the other end of the connection
	fence  string     // under which the command that is being run writes, and its token
	client *store
}

// batch adds those commands of b that write, each as a line. Their steps, behind so many checks, came to results; err
// is why they have none.
func (t *trail) batch(b *batch, checks int, results []result, err error) {
	if t.log == nil || b.writes == 0 {
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
	if t.log == nil {
		return
	}
	var names audit.Names
	acts := false
	for i := range steps {
		acts = service.AddNames(&names, &steps[i]) || acts
	}
	if !acts {
		return
	}
	r := audit.Record{Time: time.Now(), Act: "redis." + name, Fence: t.fence}
	r.Outcome, r.Code = cameTo(results, err)
	if r.Outcome == audit.Done {
		r.Revision = t.client.revision
	}
	r.Missing = service.MissingIn(err)
	names.Put(&r)
	t.add(r)
}

// lease adds a command that changes a lease; err is why the command failed.
func (t *trail) lease(command, name string, err error) {
	r := audit.Record{Time: time.Now(), Act: "redis." + command, Keys: []string{name}, Outcome: audit.Done}
	r.Missing = service.MissingIn(err)
	if err != nil {
		outcome, code := failed(err)
		r.Outcome, r.Code = outcome, string(code)
	}
	t.add(r)
}

// refused adds a command that was refused before its keys were parsed.
func (t *trail) refused(name string, err error) {
	outcome, code := failed(err)
	t.add(audit.Record{Time: time.Now(), Act: "redis." + name, Outcome: outcome, Code: string(code)})
}

// add adds a line about the client.
func (t *trail) add(r audit.Record) {
	if t.log == nil {
		return
	}
	r.From, r.Accessor, r.Certificate = t.from, t.client.Accessor(), t.client.proven.CertificateName()
	t.log.Add(r)
}

// cameTo returns what a command came to whose steps have these results. One that was done in part was done, and its
// code says why the rest was not.
func cameTo(results []result, err error) (audit.Outcome, string) {
	if err != nil {
		outcome, code := failed(err)
		return outcome, string(code)
	}
	outcome, code := audit.NotApplied, api.Code("")
	for _, r := range results {
		switch {
		case r.err == nil && r.code == kv.CodeDone:
			outcome = audit.Done
		case code != "":
		case r.err != nil:
			_, code = failed(r.err)
		default:
			code = service.CodeOfResult(r.code)
		}
	}
	if len(results) == 0 { // it was applied before, and nobody remembers with what result
		outcome = audit.Done
	}
	return outcome, string(code)
}

// failed returns what the audit log says of a command that the node has not carried out, or does not know of.
func failed(err error) (audit.Outcome, api.Code) {
	code, ok := service.CodeOf(err)
	if !ok {
		code = api.CodeInternal
	}
	return service.OutcomeOf(code), code
}
