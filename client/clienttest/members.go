package clienttest

import (
	"fmt"
	"slices"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/drain"
	"tenure/server/members"
	"tenure/server/service"
)

// roster is the list of members and the operations on it. At first every node is a voter. Cluster.mu guards it.
type roster struct {
	list       []api.Member
	removed    []string
	change     uint64
	number     uint64
	operations []api.MemberOperation        // newest first
	asked      map[string]members.Operation // the change of each operation, by id
	looks      int                          // times that an operation is listed before it ends
	looked     int                          // how often the running one was
	outcome    string                       // state in which operations end
	problem    string
}

// nodeName returns the name of a node.
func nodeName(id uint64) string { return fmt.Sprintf("node-%d", id) }

func newRoster(nodes []*Node) roster {
	m := roster{number: 1, asked: map[string]members.Operation{}, looks: 1, outcome: api.OperationDone}
	for _, n := range nodes {
		m.list = append(m.list, api.Member{
			Node: n.ID, Name: nodeName(n.ID), Voter: true, Connected: true,
			Store: fmt.Sprintf("%032x", n.ID), PeerAddress: fmt.Sprintf("127.0.0.1:%d", 8299+n.ID),
		})
	}
	return m
}

// nonVoter reports whether the node is a member that does not vote.
func (m *roster) nonVoter(node uint64) bool {
	return slices.ContainsFunc(m.list, func(x api.Member) bool { return x.Node == node && !x.Voter })
}

// drains reports whether the node was told to take no new clients.
func (m *roster) drains(node uint64) bool {
	return slices.ContainsFunc(m.list, func(x api.Member) bool { return x.Node == node && x.Draining })
}

// LookTimes has every operation on members end when nodes have listed it so often. At first that is once; 0: never.
func (c *Cluster) LookTimes(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members.looks = n
}

// EndOperationsAs makes operations on members that begin from now on end in the given state, such as
// api.OperationFailed, with the given problem.
func (c *Cluster) EndOperationsAs(state, problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members.outcome, c.members.problem = state, problem
}

// EditMembers changes the list of members without an operation.
func (c *Cluster) EditMembers(edit func([]api.Member) []api.Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members.list = edit(c.members.list)
	c.members.change++
}

// ForgetOperations has the nodes forget all operations on members, as they do with those that ended long ago.
func (c *Cluster) ForgetOperations() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members.operations = nil
	clear(c.members.asked)
}

// Members returns the list of members.
func (c *Cluster) Members() []api.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members.list)
}

// Begun returns how many operations on members were begun since ForgetOperations.
func (c *Cluster) Begun() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.members.operations)
}

// ListMembers returns what the node answers. It brings the running operation nearer to its end.
func (b *backend) ListMembers() (api.MemberList, error) {
	c, n := b.cluster, b.node
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.members
	out := api.MemberList{
		Cluster: c.id, Node: n.ID, Master: c.master, Number: m.number, Change: m.change, Settled: m.number,
		Members: []api.Member{}, Removed: slices.Concat([]string{}, m.removed), Operations: slices.Clone(m.operations),
	}
	for _, x := range m.list {
		if x.ClientAddress == "" && x.Node <= uint64(len(c.nodes)) {
			x.ClientAddress = c.nodes[x.Node-1].address()
		}
		x.Connected = x.Connected && (x.Node > uint64(len(c.nodes)) || !c.nodes[x.Node-1].stopped.Load())
		x.Draining = x.Draining && x.Node == n.ID // no node knows it of another one
		out.Members = append(out.Members, x)
	}
	if len(m.operations) == 0 || m.operations[0].State != api.OperationRunning {
		return out, nil
	}
	if n.ID != c.master {
		out.Operations[0].Step = "" // only the master knows
	}
	if m.looked++; m.looks > 0 && m.looked >= m.looks {
		m.end(&m.operations[0])
	}
	return out, nil
}

// end ends the running operation, which has its effect if it is done.
func (m *roster) end(o *api.MemberOperation) {
	o.State, o.Problem, o.Step, m.looked = m.outcome, m.problem, "", 0
	if o.State != api.OperationDone {
		return
	}
	m.change++
	at := func(node uint64) int { return m.at(ballot.NodeID(node)) }
	switch o.Kind {
	case api.ChangeRemove, api.ChangeReplace:
		m.removed = append(m.removed, m.list[at(o.Node)].Name)
		m.list = slices.Delete(m.list, at(o.Node), at(o.Node)+1)
		if o.By != 0 {
			m.list[at(o.By)].Voter = true
		}
		m.number++
	case api.ChangePromote:
		m.list[at(o.Node)].Voter = true
		m.number++
	case api.ChangeReadmit:
		m.removed = slices.DeleteFunc(m.removed, func(name string) bool { return name == o.Name })
	}
}

func refused(code api.Code, format string, args ...any) error {
	return &service.Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

func (b *backend) DrainNode(_ time.Duration, node ballot.NodeID, off, force bool) error {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	i := b.cluster.members.at(node)
	if i < 0 {
		return refused(api.CodeNotMember, "node %d is not a member", node)
	}
	if loss := b.drainLoss(b.cluster.members.list[i]); loss != "" && !off && !force {
		return refused(api.CodeQuorumLoss, "%s", loss)
	}
	b.cluster.members.list[i].Draining = !off
	return nil
}

func (b *backend) PlanChange(_ time.Duration, x members.Operation) (api.MemberPlan, error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	if err := b.cluster.members.check(&x); err != nil {
		return api.MemberPlan{}, err
	}
	return b.cluster.members.plan(&x), nil
}

func (b *backend) ChangeMembers(_ time.Duration, x members.Operation) (api.MemberOperation, error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	m := &b.cluster.members
	if known, ok := m.asked[x.ID]; ok {
		if known != x {
			return api.MemberOperation{}, refused(api.CodeKeyReused, "the operation id was used by another change")
		}
		i := slices.IndexFunc(m.operations, func(o api.MemberOperation) bool { return o.ID == x.ID })
		return m.operations[i], nil
	}
	asked := x
	if err := m.check(&x); err != nil {
		return api.MemberOperation{}, err
	}
	o := api.MemberOperation{ID: x.ID, Kind: x.Kind.String(), Node: uint64(x.Node), By: uint64(x.Member.Node),
		State: api.OperationRunning, Step: "it waits to be looked at"}
	if x.Kind == members.Readmit {
		o.Name = x.Member.Name
	}
	m.asked[x.ID] = asked
	m.operations = slices.Insert(m.operations, 0, o)
	return o, nil
}

func (b *backend) CancelChange(_ time.Duration, id string) (api.MemberOperation, error) {
	b.cluster.mu.Lock()
	defer b.cluster.mu.Unlock()
	m := &b.cluster.members
	i := slices.IndexFunc(m.operations, func(o api.MemberOperation) bool { return o.ID == id })
	if i < 0 {
		return api.MemberOperation{}, refused(api.CodeNotMember, "there is no operation %s", id)
	}
	o := &m.operations[i]
	if o.State != api.OperationRunning && o.State != api.OperationCancelled {
		return api.MemberOperation{}, refused(api.CodeMemberState, "operation %s has ended: it is %s", id, o.State)
	}
	o.State, o.Step, m.looked = api.OperationCancelled, "", 0
	return *o, nil
}

// drainLoss says what is lost if x is drained and stopped, or is empty.
func (b *backend) drainLoss(x api.Member) string {
	c := b.cluster
	l := api.MemberList{Members: slices.Clone(c.members.list)}
	for i := range l.Members {
		if n := l.Members[i].Node; n <= uint64(len(c.nodes)) && c.nodes[n-1].stopped.Load() {
			l.Members[i].Connected = false
		}
	}
	return drain.Without(l, x.Node).Loss(x)
}

// check returns why x cannot be carried out, or nil. It chooses who takes a place.
func (m *roster) check(x *members.Operation) error {
	if len(m.operations) > 0 && m.operations[0].State == api.OperationRunning {
		o := m.operations[0]
		return refused(api.CodeMemberBusy, "operation %s (%s node %d) runs: wait for it, or cancel it", o.ID, o.Kind, o.Node)
	}
	i := m.at(x.Node)
	switch {
	case x.Kind == members.Readmit && !slices.Contains(m.removed, x.Member.Name):
		return refused(api.CodeNotMember, "no removed member is named %q", x.Member.Name)
	case x.Kind == members.Add, x.Kind == members.Readmit:
	case i < 0:
		return refused(api.CodeNotMember, "node %d is not a member", x.Node)
	case x.Kind == members.Promote && m.list[i].Voter:
		return refused(api.CodeMemberState, "node %d is a voter already", x.Node)
	case x.Kind == members.Replace && x.Member.Node == 0:
		spare := func(y api.Member) bool { return !y.Voter && y.Node != uint64(x.Node) }
		if s := slices.IndexFunc(m.list, spare); s >= 0 {
			x.Member.Node = ballot.NodeID(m.list[s].Node)
		}
	case x.Kind == members.Remove:
		left := m.without(i)
		if left.Failures < 0 && x.Alive != left.Alive {
			return refused(api.CodeQuorumLoss, "%d of the %d voters that are left are alive", left.Alive, left.Voters)
		}
	}
	return nil
}

// without returns what the voters but the i-th member survive.
func (m *roster) without(i int) api.Tolerance {
	var t api.Tolerance
	for j, x := range m.list {
		if x.Voter && j != i {
			t.Voters++
		}
		if x.Voter && j != i && x.Connected {
			t.Alive++
		}
	}
	t.Failures = t.Alive - (t.Voters/2 + 1)
	return t
}

func (m *roster) plan(x *members.Operation) api.MemberPlan {
	now := m.without(-1)
	p := api.MemberPlan{Kind: x.Kind.String(), Steps: []string{fmt.Sprintf("%s node %d", x.Kind, x.Node)}, Before: now,
		Meanwhile: now, After: now}
	if x.Kind == members.Remove {
		p.After = m.without(m.at(x.Node))
	}
	return p
}

// at returns the place of a node in the list, -1 if it is no member.
func (m *roster) at(node ballot.NodeID) int {
	return slices.IndexFunc(m.list, func(x api.Member) bool { return x.Node == uint64(node) })
}
