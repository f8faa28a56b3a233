package backend

import (
	"cmp"
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
	"tenure/server/web"
	"tenure/server/wire"
)

// maxMemberQuestions bounds the questions about members that wait at one node for the master's answer, and the
// questions that one node works on for others. The same bounds hold for drains of other nodes.
const maxMemberQuestions = 64

// MembersConfig is what a Members is made of. All fields are required.
type MembersConfig struct {
	Self      ballot.NodeID
	FirstID   uint64 // of the questions that are passed on; another one in each run
	Cluster   *Cluster
	Log       *runner.Log
	Lifecycle *runner.Lifecycle
	Send      runner.Sender
	Drain     *runner.Drain // of this node
	Logger    zerolog.Logger
}

// Members lists the members, and passes requests to change them on to the master.
type Members struct {
	cfg    MembersConfig
	asks   *questions[wire.MembersTold] // for the master
	drains *questions[wire.Drained]     // for any node
	drain  sync.Mutex                   // held while a drain of this node begins
}

// NewMembers returns a Members.
func NewMembers(c MembersConfig) *Members {
	return &Members{cfg: c, asks: newQuestions[wire.MembersTold](c.FirstID, maxMemberQuestions),
		drains: newQuestions[wire.Drained](c.FirstID, maxMemberQuestions)}
}

// ChangeMembers begins an operation, wherever the master is.
func (m *Members) ChangeMembers(timeout time.Duration, c web.MemberChange) (api.MemberOperation, error) {
	told, err := m.ask(timeout, wire.MembersAsk{Op: operationOf(c)})
	if err != nil {
		return api.MemberOperation{}, err
	}
	return m.operation(told.Record, c.Operation)
}

// PlanChange says what ChangeMembers would do.
func (m *Members) PlanChange(timeout time.Duration, c web.MemberChange) (api.MemberPlan, error) {
	told, err := m.ask(timeout, wire.MembersAsk{Op: operationOf(c), DryRun: true})
	if err != nil {
		return api.MemberPlan{}, err
	}
	p := told.Plan
	return api.MemberPlan{Kind: c.Kind, Steps: p.Steps, Before: api.Tolerance(p.Before),
		Meanwhile: api.Tolerance(p.Meanwhile), After: api.Tolerance(p.After)}, nil
}

// CancelChange takes an operation back.
func (m *Members) CancelChange(timeout time.Duration, id string) (api.MemberOperation, error) {
	told, err := m.ask(timeout, wire.MembersAsk{Cancel: id})
	if err != nil {
		return api.MemberOperation{}, err
	}
	return m.operation(told.Record, id)
}

// operation returns what a record says of an operation.
func (m *Members) operation(record []byte, id string) (api.MemberOperation, error) {
	r, err := members.Decode(record)
	if err != nil {
		return api.MemberOperation{}, fmt.Errorf("%w: the master's answer cannot be read: %w", web.ErrUnknown, err)
	}
	op, ok := r.Operation(id)
	if !ok {
		return api.MemberOperation{}, fmt.Errorf("%w: the operation is not in the record of the members any more", web.ErrUnknown)
	}
	return shownOperation(op), nil
}

// Join admits a node that asks for it, and returns the record that lists it.
func (m *Members) Join(timeout time.Duration, op members.Operation) (members.Record, error) {
	if why := m.cfg.Cluster.FounderWaits(); why != "" {
		return members.Record{}, errors.New(why)
	}
	told, err := m.ask(timeout, wire.MembersAsk{Op: op})
	if err != nil {
		return members.Record{}, err
	}
	r, err := members.Decode(told.Record)
	if err != nil {
		return r, fmt.Errorf("%w: the master's answer cannot be read: %w", web.ErrUnknown, err)
	}
	return r, nil
}

// ask brings a question to the master, which may be this node, and waits for its answer. A sent question is not
// repeated: the client repeats the operation's id.
func (m *Members) ask(timeout time.Duration, q wire.MembersAsk) (wire.MembersTold, error) {
	end := time.Now().Add(timeout)
	for to := ballot.NodeID(0); ; {
		left := time.Until(end)
		if left <= 0 {
			return wire.MembersTold{}, fmt.Errorf("%w: no master is known; try again", web.ErrNotApplied)
		}
		told, err := m.askOnce(left, cmp.Or(to, m.cfg.Log.View().Master), q)
		if err != nil {
			return told, err
		}
		switch {
		case told.Done:
			return told, nil
		case told.Unknown:
			return told, fmt.Errorf("%w: the master did not answer in time, or is the master no more: ask again with the same "+
				"operation id", web.ErrUnknown)
		case told.Reason != 0:
			return told, &web.MemberError{Code: codeOf(told.Reason), Text: told.Text}
		}
		to = told.Master // 0: whoever is known to be by then
		select {
		case <-m.cfg.Lifecycle.Ended():
			return told, fmt.Errorf("%w: this node is stopping; ask another", web.ErrNotApplied)
		case <-time.After(replica.TickEvery):
		}
	}
}

// askOnce asks one node, this one if to is 0. An error says that no question was sent, or that no answer came.
func (m *Members) askOnce(wait time.Duration, to ballot.NodeID, q wire.MembersAsk) (wire.MembersTold, error) {
	if to == 0 || to == m.cfg.Self {
		return m.here(wait, q), nil
	}
	q.Wait = wait
	told, how := m.asks.ask(wait, m.cfg.Lifecycle.Ended(), func(id uint64) bool {
		q.ID = id
		return m.cfg.Send.SendLog(to, wire.EncodeMembersAsk(&q))
	})
	switch how {
	case tooMany:
		return told, errTooManyAsked
	case unanswered:
		told.Unknown = true
	}
	return told, nil // of unsent: nothing was asked
}

var errTooManyAsked = fmt.Errorf("%w: %d questions about members wait already", web.ErrOverloaded, maxMemberQuestions)

// here asks this node's own log part, or its drain.
func (m *Members) here(wait time.Duration, q wire.MembersAsk) wire.MembersTold {
	if q.Drain {
		return wire.MembersTold{ID: q.ID, Drain: m.cfg.Drain.State()}
	}
	r, err := m.cfg.Log.Members(wait, replica.MembersRequest{Op: q.Op, Cancel: q.Cancel, DryRun: q.DryRun,
		Known: besides(q.Op, m.cfg.Cluster.known())})
	told := wire.MembersTold{ID: q.ID}
	switch {
	case errors.Is(err, runner.ErrOverloaded):
		return told
	case err != nil || r.Outcome == replica.Unknown || r.Members == nil:
		told.Unknown = err != nil || r.Outcome == replica.Unknown
		return told
	}
	told.Master = r.Members.Master
	switch {
	case r.Outcome == replica.Done:
		told.Done, told.Record, told.Plan = true, r.Members.Record.Encode(), r.Members.Plan
	case r.Members.Refusal != nil:
		told.Reason, told.Text = r.Members.Refusal.Reason, r.Members.Refusal.Text
	}
	return told
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

// Asked answers a question that another node has passed on to this one. One too many is answered as if this node knew no
// master.
func (m *Members) Asked(from ballot.NodeID, q wire.MembersAsk) {
	taken := m.asks.work(func() {
		told := m.here(min(max(q.Wait, 0), maxMemberWait), q)
		m.cfg.Send.SendLog(from, wire.EncodeMembersTold(&told))
	})
	if !taken {
		m.cfg.Send.SendLog(from, wire.EncodeMembersTold(&wire.MembersTold{ID: q.ID}))
	}
}

// maxMemberWait bounds how long a question of another node is worked on.
const maxMemberWait = time.Minute

// Told takes the master's answer to a question that was passed on.
func (m *Members) Told(t wire.MembersTold) { m.asks.answer(t.ID, t) }

// operationOf returns the operation that c asks for.
func operationOf(c web.MemberChange) members.Operation {
	op := members.Operation{ID: c.Operation, Node: c.Node, Member: c.Member, NonVoter: c.NonVoter,
		Alive: c.ForceQuorumLoss, Differs: c.Differs}
	switch c.Kind {
	case api.ChangeAdd:
		op.Kind = members.Add
	case api.ChangeRemove:
		op.Kind = members.Remove
	case api.ChangeReplace:
		op.Kind, op.Member.Node = members.Replace, c.By
	case api.ChangePromote:
		op.Kind = members.Promote
	case api.ChangeUpdate:
		op.Kind = members.Update
	case api.ChangeReadmit:
		op.Kind = members.Readmit
	}
	return op
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
