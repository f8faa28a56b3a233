package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"tenure/api"
)

// The types of Members.
type (
	MemberList      = api.MemberList
	Member          = api.Member
	SnapshotStatus  = api.SnapshotStatus
	MemberOperation = api.MemberOperation
	MemberPlan      = api.MemberPlan
	Tolerance       = api.Tolerance
)

// The kinds of a MemberChange.
const (
	ChangeAdd     = api.ChangeAdd
	ChangeRemove  = api.ChangeRemove
	ChangeReplace = api.ChangeReplace
	ChangePromote = api.ChangePromote
	ChangeUpdate  = api.ChangeUpdate
	ChangeReadmit = api.ChangeReadmit
)

// The states of a MemberOperation.
const (
	OperationRunning   = api.OperationRunning
	OperationDone      = api.OperationDone
	OperationFailed    = api.OperationFailed
	OperationCancelled = api.OperationCancelled
)

// MemberChange is a change of the members. Each kind uses some of the fields, and the others must be zero. An addition
// uses Name, PeerAddress, ClientAddress, Store and NonVoter; a removal Node, ForceQuorumLoss and Differs; a replacement
// Node and By; a promotion Node; a readmission Name. An update uses Node, and the new values among Name, PeerAddress
// and ClientAddress.
type MemberChange struct {
	// Operation identifies the change: however often it is asked for, it is begun once. Empty: the client makes an id,
	// which is in the MemberOperation, and in the Error if the outcome is not known.
	Operation string
	Node      uint64
	// By is a non-voter. 0: the cluster chooses a caught-up spare. Without such a spare, the next node that joins under
	// the name of Node takes its place.
	By            uint64
	Name          string
	PeerAddress   string // HOST:PORT at which the other nodes reach the member
	ClientAddress string // HOST:PORT at which clients reach it
	// Store is the id of the data directory of the node that joins, which only that node knows: kvnode --join sends it
	// by itself. Without it an addition can only be planned.
	Store    string
	NonVoter bool
	// ForceQuorumLoss is how many voters of what is left are alive. It allows a removal after which there is no
	// majority, if it is right.
	ForceQuorumLoss int
	// Differs says that the state of Node is the wrong one, while the states of voters differ and no majority tells
	// which is right. Only with it a voter that differs is removed.
	Differs bool
}

// Members lists and changes the members of the cluster.
type Members struct{ s *sender }

// List returns the members as the master has applied them: the master knows best why the running operation waits. If
// the master does not answer, List returns the members of the first node that does. Members that lag are asked for the
// copies that they receive. The Client uses the addresses of the members from then on, see Config.NoLearning.
func (m *Members) List(ctx context.Context) (MemberList, error) {
	list, err := m.listOfAny(ctx)
	if err != nil {
		return MemberList{}, err
	}
	if list.Node != list.Master {
		if better, err := m.listOfMaster(ctx, list); err == nil {
			list = better
		}
	}
	m.addSnapshots(ctx, list)
	return list, nil
}

// listOfAny returns the list of the first node that answers.
func (m *Members) listOfAny(ctx context.Context) (MemberList, error) {
	var out MemberList
	a, err := m.s.get(ctx, "list members", "", membersRequest, func(a answer) (err error) {
		if out, err = decodeMembers(a); err != nil {
			return err
		}
		return m.s.ofThisCluster(a.endpoint, out.Cluster)
	})
	if err != nil {
		return MemberList{}, err
	}
	m.s.learner.learn(a.endpoint, &out)
	return out, nil
}

// askTimeout bounds the questions to single nodes by which a list is made better.
const askTimeout = 500 * time.Millisecond

// snapshotLag is how many slots a member lags at least that may need a copy of the state.
const snapshotLag = 100

// listOfMaster asks the master in list for its own.
func (m *Members) listOfMaster(ctx context.Context, list MemberList) (MemberList, error) {
	i := slices.IndexFunc(list.Members, func(x Member) bool { return x.Node == list.Master })
	if i < 0 {
		return MemberList{}, errNotUnderstood
	}
	a, err := m.askMember(ctx, list.Members[i], membersRequest)
	if err != nil {
		return MemberList{}, err
	}
	better, err := decodeMembers(a)
	if err == nil && (better.Cluster != list.Cluster || better.Change < list.Change) {
		err = errNotUnderstood
	}
	return better, err
}

// addSnapshots completes list with the copies that members receive, which only those know themselves.
func (m *Members) addSnapshots(ctx context.Context, list MemberList) {
	var all sync.WaitGroup
	for i := range list.Members {
		x := &list.Members[i]
		if x.Snapshot != nil || !x.Connected || x.Lag < snapshotLag || x.Node == list.Node {
			continue
		}
		all.Go(func() {
			if a, err := m.askMember(ctx, *x, statusRequest); err == nil {
				if s, err := decodeStatus(a); err == nil && s.Node == x.Node {
					x.Snapshot = s.Snapshot
				}
			}
		})
	}
	all.Wait()
}

// askMember asks one member once, if its address is among the endpoints.
func (m *Members) askMember(ctx context.Context, x Member, r request) (answer, error) {
	u, err := parseEndpoint(x.ClientAddress, m.s.endpoints.preferred.Load().Scheme)
	if err != nil {
		return answer{}, err
	}
	e := m.s.endpoints.at(u)
	if e == nil {
		return answer{}, errNotUnderstood
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r.method = http.MethodGet
	a, _, err := m.s.exchange(ctx, e, r)
	if err == nil && a.status != http.StatusOK {
		err = a.failure()
	}
	return a, err
}

var membersRequest = request{path: api.PathMembers, unmarked: true, anyCluster: true, short: true}

func decodeMembers(a answer) (MemberList, error) {
	var l MemberList
	if err := json.Unmarshal(a.body, &l); err != nil || l.Node == 0 || l.Members == nil {
		return MemberList{}, errNotUnderstood
	}
	return l, nil
}

// Add asks for a node to be added. Usually the node does that by itself: see MemberChange.Store.
func (m *Members) Add(ctx context.Context, c MemberChange) (MemberOperation, error) {
	return m.change(ctx, ChangeAdd, c)
}

// Remove begins to remove a member, and returns when that is in the log.
func (m *Members) Remove(ctx context.Context, c MemberChange) (MemberOperation, error) {
	return m.change(ctx, ChangeRemove, c)
}

// Replace begins to let a non-voter take the place of a member, and returns when that is in the log.
func (m *Members) Replace(ctx context.Context, c MemberChange) (MemberOperation, error) {
	return m.change(ctx, ChangeReplace, c)
}

// Promote begins to make a voter of a non-voter, and returns when that is in the log.
func (m *Members) Promote(ctx context.Context, c MemberChange) (MemberOperation, error) {
	return m.change(ctx, ChangePromote, c)
}

// Update begins to change the name or the addresses of a member, and returns when that is in the log.
func (m *Members) Update(ctx context.Context, c MemberChange) (MemberOperation, error) {
	return m.change(ctx, ChangeUpdate, c)
}

// Readmit lets nodes with a certificate of a removed member's name join again, and returns when that is in the log.
func (m *Members) Readmit(ctx context.Context, c MemberChange) (MemberOperation, error) {
	return m.change(ctx, ChangeReadmit, c)
}

// Cancel takes an operation back. It fails with ErrMembers if that is not possible any more.
func (m *Members) Cancel(ctx context.Context, operation string) (MemberOperation, error) {
	return m.begin(ctx, "cancel", api.PathMembersCancel, api.MemberRequest{Operation: operation})
}

// change begins an operation of that kind.
func (m *Members) change(ctx context.Context, kind string, c MemberChange) (MemberOperation, error) {
	if c.Operation == "" {
		c.Operation = uuid.NewString()
	}
	return m.begin(ctx, kind, api.PathMembers+"/"+kind, requestOf(c))
}

// begin sends a request about an operation. All tries are about the same one, so that a lost answer is asked for again.
func (m *Members) begin(ctx context.Context, what, path string, body api.MemberRequest) (MemberOperation, error) {
	r := request{method: http.MethodPost, path: path, body: encode(body), idempotent: true}
	op, err := writeOne(ctx, m.s, what+" member", "", r, Once{},
		func(op *MemberOperation) bool { return op.ID == body.Operation })
	return op, ofOperation(err, body.Operation)
}

// ofOperation returns err with the id of the operation that it is about.
func ofOperation(err error, id string) error {
	var e *Error
	if errors.As(err, &e) {
		e.Operation = id
	}
	return err
}

func requestOf(c MemberChange) api.MemberRequest {
	return api.MemberRequest{
		Operation: c.Operation, Node: c.Node, By: c.By, Name: c.Name, PeerAddress: c.PeerAddress,
		ClientAddress: c.ClientAddress, Store: c.Store, NonVoter: c.NonVoter, ForceQuorumLoss: c.ForceQuorumLoss,
		Differs: c.Differs,
	}
}

// Plan returns what a change would do, and fails as the change would. It changes nothing.
func (m *Members) Plan(ctx context.Context, kind string, c MemberChange) (MemberPlan, error) {
	body := requestOf(c)
	body.DryRun = true
	r := request{method: http.MethodPost, path: api.PathMembers + "/" + kind, body: encode(body), idempotent: true}
	p, err := writeOne(ctx, m.s, "plan to "+kind+" member", "", r, Once{},
		func(p *MemberPlan) bool { return p.Kind == kind })
	var e *Error
	if errors.As(err, &e) && (e.Kind == ErrUnknown || e.Kind == ErrNotApplied) {
		e.Kind = ErrUnavailable // nothing was to be changed
	}
	return p, err
}

// Drain makes a node hand mastership over and take no new clients, until off is given or it is restarted. It fails with
// ErrMembers if no other voter could be master then, or too few would be alive once the node is stopped. Of several
// voters that are drained at the same time one at least is refused.
func (m *Members) Drain(ctx context.Context, node uint64, off bool) error {
	return m.drain(ctx, api.MemberRequest{Node: node, Off: off})
}

// ForceDrain drains a node at any cost: while all voters are drained, there is no master and nothing can be written.
func (m *Members) ForceDrain(ctx context.Context, node uint64) error {
	return m.drain(ctx, api.MemberRequest{Node: node, Force: true})
}

func (m *Members) drain(ctx context.Context, body api.MemberRequest) error {
	r := request{method: http.MethodPost, path: api.PathMembersDrain, idempotent: true, body: encode(body)}
	_, err := m.s.write(ctx, "drain node", fmt.Sprint(body.Node), r, Once{})
	return err
}
