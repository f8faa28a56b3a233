package members

import (
	"cmp"
	"fmt"

	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// Plan is what an operation would do.
type Plan struct {
	Steps []string // sentences, in order
	// Before, Meanwhile and After are what the voters survive; Meanwhile at the worst moment.
	Before, Meanwhile, After Tolerance
}

// Tolerance is what a set of voters survives.
type Tolerance struct {
	Voters, Alive int
	// Failures is how many of those alive may yet fail while a majority stays; negative: there is none.
	Failures int
}

// String returns the tolerance for people.
func (t Tolerance) String() string {
	what := fmt.Sprintf("%d voters, %d of them alive: ", t.Voters, t.Alive)
	switch {
	case t.Failures < 0:
		return what + "no majority, nothing is written"
	case t.Failures == 0:
		return what + "none of these may fail"
	}
	return what + fmt.Sprintf("any %d of these may fail", t.Failures)
}

func (f *Facts) tolerance(voters quorum.Set) Tolerance {
	alive := f.alive(voters).Len()
	return Tolerance{Voters: voters.Len(), Alive: alive, Failures: alive - voters.Need()}
}

// maxSteps bounds an explanation; no operation has so many.
const maxSteps = 16

// Explain tells what Begin with op would lead to if all goes well from now on, by the very rules of Begin and Next. The
// error is that of Begin. An Add may leave out whose directory it is.
func (r Record) Explain(op Operation, f Facts) (Plan, error) {
	if op.Kind == Add && op.Member.Store.IsZero() {
		op.Member.Store = dryStore
	}
	next, changed, err := r.Begin(op, f)
	if err != nil {
		return Plan{}, err
	}
	voters := r.Membership.Voters()
	p := Plan{Before: f.tolerance(voters), Meanwhile: f.tolerance(voters)}
	if !changed {
		p.After = p.Before
		p.Steps = []string{"nothing: it has begun, or is done, already"}
		return p, nil
	}
	p.begins(&r, &next, &f)
	for range maxSteps {
		if _, runs := next.Running(); !runs && next.IsSettled() {
			break
		}
		s := Next(next, f)
		if s.HandOver {
			p.Steps = append(p.Steps, s.Why)
			f = f.handedOver(next.Membership.Voters())
			continue
		}
		if !s.Change {
			if s.Why != "" {
				p.Steps = append(p.Steps, s.Why)
			}
			break
		}
		p.Steps = append(p.Steps, s.Why)
		next = s.Record
		if t := f.tolerance(next.Membership.Voters()); t.Failures < p.Meanwhile.Failures {
			p.Meanwhile = t
		}
	}
	p.After = f.tolerance(next.Membership.Voters())
	return p, nil
}

// dryStore stands for the data directory of the node that is to come.
var dryStore = ident.StoreID{0xff, 0xff}

// begins adds the first step of the operation that leads from before to r. It assumes that the node for which the
// operation waits has come and is well.
func (p *Plan) begins(before, r *Record, f *Facts) {
	f.Settled = true
	run, ok := r.Running()
	if !ok {
		last := r.Operations[len(r.Operations)-1]
		switch last.Kind {
		case Add:
			p.Steps = append(p.Steps, fmt.Sprintf("node %d joins as a non-voter and stays one", last.Member.Node))
		case Remove:
			p.Steps = append(p.Steps, fmt.Sprintf("node %d, a non-voter, is removed", last.Node))
		case Update:
			p.Steps = append(p.Steps, updates(before, &last))
		case Readmit:
			p.Steps = append(p.Steps, fmt.Sprintf("a node with the certificate of %s may join again", last.Member.Name))
		}
		return
	}
	if run.Kind == Replace && !run.joined() {
		old, _, _ := r.Membership.Find(run.Node)
		if next, ok := r.claim(Operation{Kind: Add, Member: ident.Member{Name: NameOf(old), Store: dryStore}}, *f); ok {
			*r = next
			run, _ = r.Running()
			p.Steps = append(p.Steps, fmt.Sprintf("waits for a node: kvnode --join HOST:PORT --replace %s", NameOf(old)))
		}
	}
	comer := run.Member.Node
	switch {
	case run.Kind == Promote:
		comer = run.Node
	case run.Came:
		p.Steps = append(p.Steps, fmt.Sprintf("node %d joins as a non-voter", comer))
	}
	if comer != 0 {
		p.Steps = append(p.Steps, fmt.Sprintf("node %d gets a copy of the state, if it lacks much, and catches up with "+
			"the log", comer))
		f.Nodes = append([]Node{well(comer)}, f.Nodes...)
	}
}

// updates tells what an Update changes.
func updates(before *Record, o *Operation) string {
	m, _, _ := before.Membership.Find(o.Node)
	text := fmt.Sprintf("node %d gets", o.Node)
	comma := ""
	for _, x := range []struct{ what, old, next string }{
		{"the name", NameOf(m), o.Member.Name}, {"the address for peers", m.PeerAddr, o.Member.PeerAddr},
		{"the address for clients", m.ClientAddr, o.Member.ClientAddr},
	} {
		if x.next != "" && x.next != x.old {
			text += fmt.Sprintf("%s %s %s (was %s)", comma, x.what, x.next, cmp.Or(x.old, "unknown"))
			comma = ","
		}
	}
	return text
}

// handedOver returns the facts of the next master: of the other voters the first that is alive.
func (f Facts) handedOver(voters quorum.Set) Facts {
	for _, id := range voters.IDs() {
		if id != f.Self && f.node(id).Alive {
			f.Nodes = append([]Node{well(f.Self)}, f.Nodes...)
			f.Self = id
			break
		}
	}
	return f
}
