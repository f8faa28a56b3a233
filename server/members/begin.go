package members

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/shown"
)

// Begin returns the record that begins an operation; it may also end it. If the operation with that id has begun
// before, or the joining node is a member already, an earlier answer was lost: changed is false, and next is r. An
// error is a *Refusal.
//
// One operation runs at a time. A node that joins may be the one that the operation under way waits for.
func (r Record) Begin(op Operation, f Facts) (next Record, changed bool, err error) {
	if why := op.check(); why != "" {
		return r, false, refuse(Invalid, "%s", why)
	}
	if why := checkShown(op.Member); why != "" {
		return r, false, refuse(Invalid, "%s", why)
	}
	certified := op.Certified
	op.BySpare, op.Came, op.Certified = false, false, false // whoever asks does not say so, or only here
	if was, ok := r.Operation(op.ID); ok {
		if !op.repeats(was) {
			return r, false, refuse(IDReused, "operation %v is another one; choose a new id for each", was)
		}
		return r, false, nil
	}
	if x, ok := r.WithStore(op.Member.Store); ok && (op.Kind == Add || op.Kind == Replace) {
		return r, false, letInAs(x, op.Member.Name, certified)
	}
	if certified && slices.Contains(r.Removed, op.Member.Name) {
		return r, false, refuse(WasRemoved, "the member named %[1]s was removed, and a node with its certificate is not let "+
			"in again by itself: if it may come back, first type kvctl member readmit %[1]s", shown.Word(op.Member.Name))
	}
	if err := r.resolve(&op); err != nil {
		return r, false, err
	}
	for _, x := range r.Membership.All() {
		if n := f.node(x.Node); n.Alive && n.Old {
			return r, false, refuse(Outdated, "node %d runs a version that knows nothing of changes of the members; "+
				"upgrade it first", x.Node)
		}
	}
	if err := r.fitsSeat(op, certified); err != nil {
		return r, false, err
	}
	if next, ok := r.claim(op, f); ok {
		return next, true, nil
	}
	if run, ok := r.Running(); ok {
		return r, false, refuse(Busy, "operation %v is under way; wait for its end, or take it back: "+
			"kvctl member cancel %s", run, shown.Word(run.ID))
	}
	next = r.clone()
	switch op.Kind {
	case Add:
		err = next.beginAdd(op)
	case Remove:
		err = next.beginRemove(op, &f)
	case Replace:
		err = next.beginReplace(op, &f)
	case Promote:
		err = next.beginPromote(op)
	case Update:
		err = next.beginUpdate(op)
	case Readmit:
		err = next.beginReadmit(op, &f)
	}
	if err != nil {
		return r, false, err
	}
	return next, true, nil
}

// resolve finds the member that op names.
func (r *Record) resolve(op *Operation) error {
	if op.Kind == Add || op.Kind == Readmit || op.Node != 0 {
		return nil
	}
	m, ok := r.Named(op.Name)
	if !ok {
		return refuse(Unknown, "no member is named %q; kvctl member list shows them", op.Name)
	}
	op.Node = m.Node
	return nil
}

func (r *Record) beginAdd(op Operation) error {
	if op.Member.Store.IsZero() {
		return refuse(Invalid, "a node is added by starting it on an empty directory: kvnode --join HOST:PORT --data DIR")
	}
	if !op.NonVoter && !op.Spare {
		if err := votersFull(&r.Membership); err != nil {
			return err
		}
	}
	if err := nonVotersFull(&r.Membership, r.NextNode); err != nil {
		return err
	}
	op.Member.Node = 0
	if err := fits(&r.Membership, r.NextNode, op.Member, 0); err != nil {
		return err
	}
	op.Member.Node, op.Node, op.Came = r.admit(op.Member), 0, true
	r.Operations.begin(op)
	if op.Spare {
		r.Spares = append(r.Spares, Spare{Node: op.Member.Node, ReplaceAfter: op.ReplaceAfter})
	}
	if op.NonVoter || op.Spare {
		r.Operations.end(Done, "")
	}
	return nil
}

func (r *Record) beginRemove(op Operation, f *Facts) error {
	_, voter, err := memberOf(&r.Membership, r.NextNode, op.Node)
	if err != nil {
		return err
	}
	if err := op.fitsDispute(f); err != nil {
		return err
	}
	voters := r.Membership.Voters()
	switch left := without(voters, op.Node); {
	case !voter:
		r.Operations.begin(op)
		r.remove(op.Node, f)
		r.Operations.end(Done, "")
		return nil
	case left.Len() == 0:
		return refuse(LastVoter, "node %d is the last voter; add another one first", op.Node)
	case !mayRemove(voters, &op, f):
		n := f.alive(left).Len()
		return refuse(NoMajority, "without node %d the voters are %v: %d of them must be alive, and %d are; start the "+
			"others first, or say --force-quorum-loss=%d, and nothing is written any more until they are back",
			op.Node, left, left.Need(), n, n)
	}
	r.Operations.begin(op)
	return nil
}

func (r *Record) beginReplace(op Operation, f *Facts) error {
	old, voter, err := memberOf(&r.Membership, r.NextNode, op.Node)
	if err != nil {
		return err
	}
	if err := op.fitsDispute(f); err != nil {
		return err
	}
	if op.Unheard && f.node(op.Node).Alive {
		return refuse(Heard, "node %d, %s, is alive; stop it first, or leave --replace out to join beside it", op.Node,
			NameOf(old))
	}
	switch {
	case !op.Member.Store.IsZero():
		if err := nonVotersFull(&r.Membership, r.NextNode); err != nil {
			return err
		}
		op.Member.Node = 0
		if op.Member.Name == "" {
			op.Member.Name = NameOf(old) // a fixed command line replaces that name again
		}
		if err := fits(&r.Membership, r.NextNode, op.Member, op.Node); err != nil {
			return err
		}
		op.Member.Node, op.Came = r.admit(op.Member), true
	case op.Member.Node != 0:
		by, votes, err := memberOf(&r.Membership, r.NextNode, op.Member.Node)
		if err != nil {
			return err
		}
		if votes || by.Node == op.Node {
			return refuse(Invalid, "node %d cannot take the place of node %d: it must be a non-voter", by.Node, op.Node)
		}
		op.Member = by
	case voter:
		op.Member, _ = standIn(&r.Membership, r.Spares, f)
	}
	r.Operations.begin(op)
	return nil
}

func (r *Record) beginPromote(op Operation) error {
	_, voter, err := memberOf(&r.Membership, r.NextNode, op.Node)
	if err != nil {
		return err
	}
	if voter {
		return refuse(AlreadyIs, "node %d is a voter already", op.Node)
	}
	if err := votersFull(&r.Membership); err != nil {
		return err
	}
	r.Operations.begin(op)
	return nil
}

func (r *Record) beginUpdate(op Operation) error {
	if _, _, err := memberOf(&r.Membership, r.NextNode, op.Node); err != nil {
		return err
	}
	if op.Member.Name == "" && op.Member.PeerAddr == "" && op.Member.ClientAddr == "" {
		return refuse(Invalid, "say which address or name of node %d is another one now", op.Node)
	}
	next := r.clone()
	next.update(op.Node, op.Member)
	was, _, _ := r.Membership.Find(op.Node)
	m, _, _ := next.Membership.Find(op.Node)
	if NameOf(m) == NameOf(was) && m.PeerAddr == was.PeerAddr && m.ClientAddr == was.ClientAddr {
		return refuse(AlreadyIs, "node %d has that name and those addresses already", op.Node)
	}
	if err := fitsAfter(&next.Membership, m); err != nil {
		return err
	}
	r.Operations.begin(op)
	r.update(op.Node, op.Member)
	r.Operations.end(Done, "")
	return nil
}

// levelOfReadmit is the feature level from which on every release reads a record with a Readmit.
const levelOfReadmit = 1

func (r *Record) beginReadmit(op Operation, f *Facts) error {
	name := op.Member.Name
	x, listed := r.Named(name)
	switch {
	case name == "":
		return refuse(Invalid, "say whose name is free again: kvctl member list shows the removed ones")
	case f.Level < levelOfReadmit:
		return refuse(Level, "the cluster's feature level is %d, and to readmit a name needs level %d: upgrade all nodes, "+
			"then kvctl upgrade finish", f.Level, levelOfReadmit)
	case listed:
		return refuse(AlreadyIs, "node %d is named %s, and is a member; nothing was changed", x.Node, name)
	case !slices.Contains(r.Removed, name):
		return refuse(Unknown, "no removed member is named %q; kvctl member list shows the removed names", name)
	}
	op.Node, op.Member = 0, ident.Member{Name: name}
	r.Operations.begin(op)
	r.Removed = dropName(r.Removed, name)
	r.Operations.end(Done, "")
	return nil
}

// claim assigns a joining node to the running operation that waits for it: a replacement without a new node yet, or an
// operation whose new node has lost its disk and joins again.
func (r *Record) claim(op Operation, f Facts) (next Record, ok bool) {
	run := r.Operations.running()
	if run == nil || op.Member.Store.IsZero() || op.Kind != Add && op.Kind != Replace || run.BySpare ||
		run.Kind != Add && run.Kind != Replace {
		return Record{}, false
	}
	seat := r.seat(run)
	if run.Kind == Replace && op.Kind == Replace && op.Node == run.Node {
		op.Member.Name = seat
	}
	if op.Member.Name != seat || run.joined() && !gone(&r.Membership, run.Member.Node, &f) || op.NonVoter || op.Spare {
		return Record{}, false
	}
	next = r.clone()
	run = next.Operations.running()
	if run.joined() {
		next.remove(run.Member.Node, &f)
	}
	if nonVotersFull(&next.Membership, next.NextNode) != nil ||
		fits(&next.Membership, next.NextNode, op.Member, run.Node) != nil {
		return Record{}, false
	}
	op.Member.Node = next.admit(op.Member)
	run.Member, run.Came = op.Member, true
	return next, true
}

// seat returns the name under which a node comes for run, an Add or a Replace. If a node has come before, it is that
// node's name, else that of the replaced one.
func (r *Record) seat(run *Operation) string {
	if run.joined() {
		return NameOf(run.Member)
	}
	old, _, listed := r.Membership.Find(run.Node)
	if !listed {
		return ""
	}
	return NameOf(old)
}

// fitsSeat refuses a node that comes for the running replacement with the certificate of another name than its seat. As
// a member of that name no peer would take it, and the operation would wait for it for ever. A node without a
// certificate takes the name of the seat.
func (r *Record) fitsSeat(op Operation, certified bool) error {
	run := r.Operations.running()
	if run == nil || !certified || op.Kind != Replace || run.Kind != Replace || op.Node != run.Node || run.BySpare {
		return nil
	}
	seat := r.seat(run)
	if op.Member.Name == seat {
		return nil
	}
	return refuse(Invalid, "operation %v waits for a node named %s, and the certificate of the node that joins is that "+
		"of %s: give it one of kvctl ca node %[2]s --hosts HOST --out DIR, or take the operation back with kvctl member "+
		"cancel %[4]s", run,
		shown.Word(seat), shown.Word(op.Member.Name), shown.Word(run.ID))
}

// letInAs refuses a node whose directory was let in as x, and which now has the certificate of another name: no peer
// would take it.
func letInAs(x ident.Member, name string, certified bool) error {
	if !certified || NameOf(x) == name {
		return nil
	}
	return refuse(Invalid, "its directory was let in as %[1]s, node %[2]d, and its certificate is that of %[3]s: start "+
		"it with the certificate of %[1]s, or as %[3]s with an empty directory", shown.Word(NameOf(x)), x.Node,
		shown.Word(name))
}

// gone reports whether a future voter is absent: it is silent, and has had the time to connect since it was let in, and
// to begin again with a snapshot.
func gone(all *ident.Membership, node ballot.NodeID, f *Facts) bool {
	_, voter, ok := all.Find(node)
	n := f.node(node)
	return !ok || !voter && !n.Alive && min(n.Silent, f.Unchanged) >= goneAfter
}

// goneAfter is more than a node takes to connect, or to begin its next run.
const goneAfter = 5 * time.Second
