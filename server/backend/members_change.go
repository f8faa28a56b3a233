package backend

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/transport"
	"tenure/server/wire"
)

// maxMemberQuestions bounds the questions about members that wait at one node for the master's answer, and the
// questions that one node works on for others. The same bound holds for each kind of questions about drains.
const maxMemberQuestions = 64

// MembersConfig is what a Members is made of. All fields are required.
type MembersConfig struct {
	Self      ballot.NodeID
	Questions *Questions
	Cluster   *Cluster
	List      *runner.Members
	Links     func() []transport.PeerState
	Log       *runner.Log
	Lifecycle *runner.Lifecycle
	Drain     *runner.Drain // of this node
	Logger    zerolog.Logger
}

// Members lists the members, and passes requests to change them on to the master.
type Members struct {
	cfg     MembersConfig
	changes *kind[members.Request, wire.MembersAnswer] // by the master
	drains  *kind[wire.Drain, struct{}]                // of any node
	states  *kind[struct{}, wire.DrainTold]            // of drains of any node
	drain   sync.Mutex                                 // held while a drain of this node begins
}

// NewMembers returns a Members.
func NewMembers(c MembersConfig) *Members {
	m := &Members{cfg: c}
	m.changes = newKind(c.Questions, wire.AskMembers, maxMemberQuestions, "ask again with the same operation id", m.change)
	m.drains = newKind(c.Questions, wire.AskDrain, maxMemberQuestions, "ask again", m.drainHere)
	m.states = newKind(c.Questions, wire.AskDrainState, maxMemberQuestions, "ask again", m.drainState)
	return m
}

// ChangeMembers begins an operation, wherever the master is.
func (m *Members) ChangeMembers(timeout time.Duration, op members.Operation) (api.MemberOperation, error) {
	told, err := m.changes.askMaster(timeout, members.Request{Op: op})
	if err != nil {
		return api.MemberOperation{}, err
	}
	return m.operation(told.Record, op.ID)
}

// PlanChange says what ChangeMembers would do.
func (m *Members) PlanChange(timeout time.Duration, op members.Operation) (api.MemberPlan, error) {
	told, err := m.changes.askMaster(timeout, members.Request{Op: op, DryRun: true})
	if err != nil {
		return api.MemberPlan{}, err
	}
	p := told.Plan
	return api.MemberPlan{Kind: op.Kind.String(), Steps: p.Steps, Before: api.Tolerance(p.Before),
		Meanwhile: api.Tolerance(p.Meanwhile), After: api.Tolerance(p.After)}, nil
}

// CancelChange takes an operation back.
func (m *Members) CancelChange(timeout time.Duration, id string) (api.MemberOperation, error) {
	told, err := m.changes.askMaster(timeout, members.Request{Cancel: id})
	if err != nil {
		return api.MemberOperation{}, err
	}
	return m.operation(told.Record, id)
}

// operation returns what a record says of an operation.
func (m *Members) operation(record []byte, id string) (api.MemberOperation, error) {
	r, err := members.Decode(record)
	if err != nil {
		return api.MemberOperation{}, fmt.Errorf("%w: the master's answer cannot be read: %w", service.ErrUnknown, err)
	}
	op, ok := r.Operation(id)
	if !ok {
		return api.MemberOperation{}, fmt.Errorf("%w: the operation is not in the record of the members any more",
			service.ErrUnknown)
	}
	return shownOperation(op), nil
}

// Join admits a node that asks for it, and returns the record that lists it.
func (m *Members) Join(timeout time.Duration, op members.Operation) (members.Record, error) {
	if why := m.cfg.Cluster.FounderWaits(); why != "" {
		return members.Record{}, errors.New(why)
	}
	told, err := m.changes.askMaster(timeout, members.Request{Op: op})
	if err != nil {
		return members.Record{}, err
	}
	r, err := members.Decode(told.Record)
	if err != nil {
		return r, fmt.Errorf("%w: the master's answer cannot be read: %w", service.ErrUnknown, err)
	}
	return r, nil
}

// change has this node's own log part change the members.
func (m *Members) change(wait time.Duration, q members.Request) (told wire.MembersAnswer, err error) {
	r, err := m.cfg.Log.Members(wait, replica.MembersRequest{Request: q, Known: besides(q.Op, m.cfg.Cluster.known())})
	switch err := outcomeOf(err, r.Outcome); {
	case err != nil:
		return told, err
	case r.Members == nil:
		return told, notMaster(0)
	case r.Outcome == replica.Done:
		return wire.MembersAnswer{Record: r.Members.Record.Encode(), Plan: r.Members.Plan}, nil
	case r.Members.Refusal != nil:
		return told, &service.Error{Code: codeOf(r.Members.Refusal.Reason), Text: r.Members.Refusal.Text}
	}
	return told, notMaster(r.Members.Master)
}

// besides returns known without the addresses that op changes: written down before, they would leave op nothing to do.
func besides(op members.Operation, known []ident.Member) []ident.Member {
	for i := range known {
		k := &known[i]
		if op.Kind != members.Update || k.Node != op.Node {
			continue
		}
		if op.Member.PeerAddr != "" {
			k.PeerAddr = ""
		}
		if op.Member.ClientAddr != "" {
			k.ClientAddr = ""
		}
	}
	return known
}

// codeOf returns the code of a refusal.
func codeOf(r members.Reason) api.Code {
	switch r {
	case members.Invalid, members.WasRemoved: // which only a node that joins is told
		return api.CodeInvalid
	case members.Unknown:
		return api.CodeNotMember
	case members.Busy:
		return api.CodeMemberBusy
	case members.IDReused:
		return api.CodeKeyReused
	case members.Level:
		return api.CodeFeatureLevel
	case members.NoMajority, members.LastVoter:
		return api.CodeQuorumLoss
	}
	return api.CodeMemberState
}
