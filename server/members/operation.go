package members

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// Kind is what an operation does. The numbers are on disks: never reused.
type Kind uint8

// The kinds.
const (
	Add     Kind = 1 // a node joins; a voter once caught up, unless NonVoter or Spare
	Remove  Kind = 2 // a member leaves
	Replace Kind = 3 // a node takes the place of a member, which leaves
	Promote Kind = 4 // a non-voter becomes a voter once caught up
	Update  Kind = 5 // a member gets another name or other addresses
	Readmit Kind = 6 // the name of a removed member is free again; from levelOfReadmit on
)

var kindNames = [...]string{Add: api.ChangeAdd, Remove: api.ChangeRemove, Replace: api.ChangeReplace,
	Promote: api.ChangePromote, Update: api.ChangeUpdate, Readmit: api.ChangeReadmit}

// String returns the name of k, as the API has it.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// State is how far an operation is. The numbers are on disks: never reused.
type State uint8

// The states.
const (
	Running   State = 1
	Done      State = 2
	Failed    State = 3 // it changed no more than its steps before; Operation.Problem says why
	Cancelled State = 4
)

var stateNames = [...]string{Running: api.OperationRunning, Done: api.OperationDone, Failed: api.OperationFailed,
	Cancelled: api.OperationCancelled}

// String returns the name of s, as the API has it.
func (s State) String() string {
	if s == 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("state %d", uint8(s))
	}
	return stateNames[s]
}

// Operation is a change of the members that somebody asked for.
type Operation struct {
	// ID is chosen by the asker, 1 to MaxIDBytes bytes. A repeated ID returns the outcome of the first operation.
	ID    string
	Kind  Kind
	State State
	// Node is the member that is removed, replaced, promoted or updated. In a request Name may stand for it.
	Node ballot.NodeID
	Name string
	// Member is the new node of Add and Replace. Begin gives it its id. For Update it holds the new name and addresses;
	// empty ones stay unchanged. For Readmit it holds only the name. A Replace may name a non-voter by its id alone, or
	// no node. Then a caught-up spare takes the place. Without a spare, the next node that joins under the replaced
	// node's name does.
	Member ident.Member
	// NonVoter and Spare are of Add: the member stays a non-voter, and may take the place of a voter that was not heard
	// for ReplaceAfter.
	NonVoter, Spare bool
	ReplaceAfter    time.Duration
	// Unheard is of Replace: it is refused while Node is heard.
	Unheard bool
	// Alive is of Remove: the number of remaining voters that are alive, as the asker believes. If the number is right,
	// the removal is carried out without a majority alive. 0: a majority is needed.
	Alive   int
	BySpare bool   // a Replace that nobody asked for
	Came    bool   // Member was admitted for this operation: who takes it back takes it out again
	Problem string // why it failed, or what it left undone
	// Differs is of Remove: while replicas differ, the state of Node is the one that is wrong, as the asker knows.
	Differs bool
	// Checks counts the records of this operation that tell the members to compare their states. An odd number tells
	// them to get ready, an even one to make the compared checkpoint.
	Checks int
	// Certified is of Add and Replace, and of requests only: the node has shown a certificate of the name in Member. A
	// removed name is refused then. Without certificates a name proves nothing.
	Certified bool
}

// Request asks for an operation, or takes one back.
type Request struct {
	Op     Operation
	Cancel string // not empty: take the operation of that id back, instead of Op
	DryRun bool   // only tell what Op would do
}

// Readies reports whether the members begin no checkpoint before the compared one.
func (o *Operation) Readies() bool { return o.Checks%2 == 1 }

// joined reports whether the new member is known and listed, by Begin or by a node that has joined since.
func (o *Operation) joined() bool { return o.Member.Node != 0 }

// comer returns the node that o makes a voter, 0 if it makes none.
func (o *Operation) comer() ballot.NodeID {
	switch o.Kind {
	case Add, Replace:
		return o.Member.Node
	case Promote:
		return o.Node
	}
	return 0
}

// check returns the problem with o in itself, or "".
func (o *Operation) check() string {
	switch {
	case len(o.ID) == 0 || len(o.ID) > MaxIDBytes:
		return fmt.Sprintf("the id of an operation has 1 to %d bytes", MaxIDBytes)
	case o.Kind < Add || o.Kind > Readmit:
		return "there is no such operation"
	case len(o.Name) > ident.MaxNameBytes:
		return fmt.Sprintf("a name is at most %d bytes long", ident.MaxNameBytes)
	case len(o.Problem) > MaxProblemBytes || o.ReplaceAfter < 0 || o.Alive < 0 || o.Checks < 0:
		return "a field is out of its bounds"
	}
	return checkMember(o.Member)
}

// repeats reports whether o asks for the same as was, which has its id: then it is an answer that was lost.
func (o *Operation) repeats(was Operation) bool {
	same := o.Kind == was.Kind
	if o.Kind == Readmit {
		same = same && o.Member.Name == was.Member.Name
	}
	if o.Kind != Add && o.Node != 0 {
		same = same && o.Node == was.Node
	}
	if !o.Member.Store.IsZero() && !was.Member.Store.IsZero() {
		same = same && o.Member.Store == was.Member.Store
	}
	return same
}

// String describes o to people: "add-1 (replace node 3 by node 4)".
func (o Operation) String() string {
	what := fmt.Sprintf("%v node %d", o.Kind, o.Node)
	switch {
	case o.Kind == Add:
		what = fmt.Sprintf("add node %d", o.Member.Node)
	case o.Kind == Readmit:
		what = "readmit " + o.Member.Name
	case o.Kind == Replace && o.joined():
		what += fmt.Sprintf(" by node %d", o.Member.Node)
	}
	return fmt.Sprintf("%s (%s)", o.ID, what)
}
