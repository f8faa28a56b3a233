package resp

import (
	"errors"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
	"tenure/server/web"
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
		acts = about(&names, &steps[i]) || acts
	}
	if !acts {
		return
	}
	r := audit.Record{Time: time.Now(), Act: "redis." + name, Fence: t.fence}
	r.Outcome, r.Code = cameTo(results, err)
	if r.Outcome == audit.Done {
		r.Revision = t.client.revision
	}
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		r.Missing = denied.Missing.String()
	}
	names.Put(&r)
	t.add(r)
}

// about notes the keys that a step writes, and reports whether it is one that writes.
func about(names *audit.Names, s *kv.Command) (acts bool) {
	switch {
	case looks(s.Op):
		return false
	case s.Op == kv.OpPutAll:
		_ = s.EachPair(func(key string, _ []byte) bool { // it was made from pairs
			names.Add(key)
			return true
		})
	case s.Op == kv.OpMove:
		names.Add(s.Key, s.NewKey)
	default:
		names.Add(s.Key) // empty, of a prune: every key
	}
	return true
}

// lease adds a command that changes a lease; err is why the command failed.
func (t *trail) lease(command, name string, err error) {
	r := audit.Record{Time: time.Now(), Act: "redis." + command, Keys: []string{name}, Outcome: audit.Done}
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		r.Missing = denied.Missing.String()
	}
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
	r.From, r.Accessor, r.Certificate = t.from, t.client.accessor(), t.client.proven.CertificateName()
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
			code = codeOf(r.code)
		}
	}
	if len(results) == 0 { // it was applied before, and nobody remembers with what result
		outcome = audit.Done
	}
	return outcome, string(code)
}

// failed returns what the audit log says of a command that the node has not carried out, or does not know of.
func failed(err error) (audit.Outcome, api.Code) {
	var denied *access.DeniedError
	var busy *web.LeaseBusyError
	var undone *undoneError
	var size *sizeError
	switch {
	case errors.As(err, &busy), errors.Is(err, web.ErrLeaseGone):
		return audit.NotApplied, api.CodeCondition
	case errors.Is(err, access.ErrUnsure):
		return audit.NotApplied, api.CodeNotApplied
	case errors.Is(err, access.ErrUnknownToken):
		return audit.Denied, api.CodeUnknownToken
	case errors.As(err, &denied):
		return audit.Denied, api.CodeDenied
	case errors.Is(err, errChanged):
		return audit.NotApplied, api.CodeCondition
	case errors.Is(err, web.ErrOverloaded):
		return audit.NotApplied, api.CodeOverloaded
	case errors.Is(err, web.ErrNotApplied):
		return audit.NotApplied, api.CodeNotApplied
	case errors.Is(err, web.ErrNoSpace):
		return audit.NotApplied, api.CodeNoSpace
	case errors.Is(err, errTooOld):
		return audit.Unknown, api.CodeKeyTooOld
	case errors.As(err, &undone):
		return audit.NotApplied, codeOf(undone.step.code)
	case errors.As(err, &size):
		return audit.NotApplied, api.CodeTooLarge
	case errors.Is(err, kv.ErrCommand):
		return audit.NotApplied, api.CodeInvalid
	case errors.Is(err, web.ErrUnknown):
		return audit.Unknown, api.CodeUnknown
	}
	return audit.Unknown, api.CodeInternal
}

// codeOf returns why a step was not done.
func codeOf(c kv.Code) api.Code {
	switch c {
	case kv.CodeCondition:
		return api.CodeCondition
	case kv.CodeMissing:
		return api.CodeNotFound
	case kv.CodeNotNumber:
		return api.CodeNotNumber
	case kv.CodeTooLarge:
		return api.CodeTooLarge
	case kv.CodeQuota, kv.CodeFull:
		return api.CodeNoSpace
	case kv.CodeFenced:
		return api.CodeFenced
	case kv.CodeKeyReused, kv.CodeBaseAhead:
		return api.CodeKeyReused
	case kv.CodeLevel:
		return api.CodeFeatureLevel
	}
	return api.CodeNotApplied
}

// looks reports whether a step changes nothing.
func looks(op kv.Op) bool {
	switch op {
	case kv.OpFetch, kv.OpMeasure, kv.OpCheckIndex, kv.OpCheckNotExists, kv.OpCheckValue,
		kv.OpCheckUnchanged:
		return true
	}
	return false
}
