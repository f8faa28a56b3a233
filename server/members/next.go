package members

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/internal/shown"
)

// Step is what comes next.
type Step struct {
	Record Record // to be proposed, if Change
	Change bool
	// HandOver: this node must first let another one be master, because it is to be removed.
	HandOver bool
	// Why says what the change does, or what the operation waits for. Without a change and a wait it is "".
	Why string
}

func wait(format string, args ...any) Step { return Step{Why: fmt.Sprintf(format, args...)} }

// Next returns what follows r by itself.
func Next(r Record, f Facts) Step {
	if !r.IsSettled() && f.Settled {
		next := r.clone()
		next.settle()
		return Step{Record: next, Change: true, Why: fmt.Sprintf("membership %d is settled: "+
			"whatever the voters before it have granted has ended", r.Settled+1)}
	}
	run, ok := r.Running()
	if !ok {
		return spareTurn(r, &f)
	}
	if step, ok := r.spareFirst(&f, &run); ok {
		return step
	}
	switch run.Kind {
	case Add:
		return joinStep(r, &f, run.Member.Node)
	case Promote:
		return joinStep(r, &f, run.Node)
	case Remove:
		return removeStep(r, &f, &run, true)
	case Replace:
		return replaceStep(r, &f, &run)
	}
	panic(fmt.Sprintf("members: operation %v runs, which has no steps", run))
}

// mayChangeVoters returns why the voters may not be changed yet. C(k+1) is proposed only once C(k) is settled.
func (r *Record) mayChangeVoters(f *Facts) (why string, ok bool) {
	if r.IsSettled() {
		return "", true
	}
	return f.SettleWhy, false
}

// joinStep makes a non-voter a voter, and ends the operation when it votes.
func joinStep(r Record, f *Facts, node ballot.NodeID) Step {
	if r.Membership.Voters().Has(node) {
		return electStep(r, f, node)
	}
	return promoteStep(r, f, node)
}

// electStep ends the operation by which a node became a voter, once the node has acknowledged that. Before, voters that
// an operator now counts as a majority might not know yet that they are one. An example is the second voter and a new
// third one, without the first.
func electStep(r Record, f *Facts, node ballot.NodeID) Step {
	n := f.node(node)
	next := r.clone()
	switch {
	case n.InForce >= r.Membership.Number:
		next.Operations.end(Done, "")
		return Step{Record: next, Change: true, Why: fmt.Sprintf("node %d votes", node)}
	case n.Alive && f.Unchanged < electWithin:
		return wait("waits for node %d, which is a voter now, to acknowledge that", node)
	}
	next.Operations.end(Done, fmt.Sprintf("node %d is a voter, and has not acknowledged that: see to it before another "+
		"voter is stopped", node))
	return Step{Record: next, Change: true, Why: fmt.Sprintf("node %d does not answer", node)}
}

// electWithin is how long an operation waits for its voter at most.
const electWithin = 10 * time.Second

// promoteStep makes a non-voter a voter once it is caught up and its state agrees with a majority of the voters. Its
// state came from one voter. If that state is wrong, the copy must not outvote the others.
func promoteStep(r Record, f *Facts, node ballot.NodeID) Step {
	if why, ok := caughtUp(&r.Membership, f, node); !ok {
		return Step{Why: why}
	}
	if why, ok := r.mayChangeVoters(f); !ok {
		return Step{Why: why}
	}
	if !f.node(node).Agrees {
		return compareStep(r, f, node)
	}
	next := r.clone()
	next.promote(node, f)
	return Step{Record: next, Change: true, Why: fmt.Sprintf("node %d becomes a voter", node)}
}

// caughtUp reports whether a non-voter has what it needs to vote.
func caughtUp(all *ident.Membership, f *Facts, node ballot.NodeID) (why string, ok bool) {
	switch n := f.node(node); {
	case !n.Alive:
		m, _, _ := all.Find(node)
		return fmt.Sprintf("waits for node %d, which is not heard: it must run, and the others reach it at %s", node,
			cmp.Or(m.PeerAddr, "its address")), false
	case !n.CaughtUp:
		return fmt.Sprintf("waits for node %d to catch up", node), false
	case n.Quarantine > 0: // as a voter it would be missing where a majority elects a master
		return fmt.Sprintf("waits %v for node %d, which has just started, to answer about the master lease",
			n.Quarantine.Round(100*time.Millisecond), node), false
	}
	return "", true
}

// compareStep has the members compare their states, in two records. From the first record on they begin no other
// checkpoint, as far as they have the memory. At the second each makes the checkpoint to compare. During a dispute
// between voters compareStep waits.
func compareStep(r Record, f *Facts, node ballot.NodeID) Step {
	run, _ := r.Running()
	why := fmt.Sprintf("waits until the state of node %d was compared with those of the voters", node)
	switch {
	case len(f.Disputed) > 0:
		return wait("waits to make node %d a voter: the states of nodes %v differ, and no majority tells which is right; "+
			"find out which of them is wrong, then kvctl member cancel %s and kvctl member remove N --differs",
			node, f.Disputed, shown.Word(run.ID))
	case run.Checks > 0 && !run.Readies() && f.Unchanged < compareAgain,
		run.Readies() && (f.Unchanged < readyWithin/10 || f.Checkpoints && f.Unchanged < readyWithin):
		return Step{Why: why}
	case run.Readies():
		why = fmt.Sprintf("the state of node %d is compared with those of the voters", node)
	}
	next := r.clone()
	next.Operations.running().Checks++
	return Step{Record: next, Change: true, Why: why}
}

const (
	// compareAgain is the time after which the members are told again to compare their states.
	compareAgain = 3 * time.Second
	// readyWithin is how long a comparison waits for a checkpoint that runs, and a tenth of it is for those of the
	// others.
	readyWithin = 2 * time.Second
)

// removeStep removes o.Node: the master only after it has handed over, and a voter only if a majority of the remaining
// voters is alive, or the operation forces it (mayRemove). last: the removal ends the operation.
func removeStep(r Record, f *Facts, o *Operation, last bool) Step {
	if _, voter, ok := r.Membership.Find(o.Node); ok && voter {
		if why, ok := r.mayChangeVoters(f); !ok {
			return Step{Why: why}
		}
		if voters := r.Membership.Voters(); !mayRemove(voters, o, f) {
			left := without(voters, o.Node)
			return wait("waits for a majority of %v to be alive before it removes node %d", left, o.Node)
		}
		if slices.Contains(f.Disputed, o.Node) && !o.Differs {
			return wait("waits to remove node %d: the states of nodes %v differ, and no majority tells which is right; "+
				"find out which of them is wrong, then kvctl member cancel %s and kvctl member remove N --differs", o.Node,
				f.Disputed, shown.Word(o.ID))
		}
		if o.Node == f.Self {
			return Step{HandOver: true, Why: fmt.Sprintf("node %d hands mastership over before it is removed", o.Node)}
		}
	}
	next := r.clone()
	next.remove(o.Node, f)
	if last {
		next.Operations.end(Done, "")
	}
	return Step{Record: next, Change: true, Why: fmt.Sprintf("node %d is removed", o.Node)}
}

// replaceStep goes on with a replacement. While the old voter lives the new one becomes a voter beside it first. If it
// is dead, or there can be no further voter, it is removed first, but never before the new one is caught up.
func replaceStep(r Record, f *Facts, o *Operation) Step {
	_, oldVotes, listed := r.Membership.Find(o.Node)
	if !o.joined() {
		return r.openStep(f, o, oldVotes)
	}
	_, newVotes, there := r.Membership.Find(o.Member.Node)
	switch {
	case !there:
		next := r.clone()
		next.Operations.end(Failed, fmt.Sprintf("node %d is not a member any more", o.Member.Node))
		return Step{Record: next, Change: true, Why: "the node that was to come is gone"}
	case newVotes && !listed: // it has the place of one that was removed before
		return electStep(r, f, o.Member.Node)
	case newVotes: // and the operation runs yet: the old one is to go
		return removeStep(r, f, o, true)
	case !listed:
		return r.seatStep(f, o)
	}
	why, ok := caughtUp(&r.Membership, f, o.Member.Node)
	switch {
	case o.BySpare && (f.node(o.Node).Alive || !f.node(o.Member.Node).Alive):
		return r.recallSpare()
	case !ok:
		return Step{Why: why}
	case !oldVotes:
		return removeStep(r, f, o, true)
	case f.node(o.Node).Alive && len(r.Membership.Members) < quorum.MaxVoters:
		return promoteStep(r, f, o.Member.Node)
	}
	return removeStep(r, f, o, false)
}

// openStep waits for a new node, or fills the place of a voter with a caught-up spare.
func (r Record) openStep(f *Facts, o *Operation, oldVotes bool) Step {
	by, ok := standIn(&r.Membership, r.Spares, f)
	if !ok || !oldVotes {
		old, _, _ := r.Membership.Find(o.Node)
		return wait("waits for the node that takes the place of node %d: kvnode --join HOST:PORT --replace %s", o.Node,
			NameOf(old))
	}
	next := r.clone()
	next.Operations.running().Member = by
	return Step{Record: next, Change: true, Why: fmt.Sprintf("node %d takes the place", by.Node)}
}
