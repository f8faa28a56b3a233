package clienttest

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tenure/api"
	"tenure/internal/drain"
)

// members is the list of members and the operations on it. At first every node is a voter. Cluster.mu guards it.
type members struct {
	list       []api.Member
	removed    []string
	change     uint64
	number     uint64
	operations []api.MemberOperation // newest first
	asked      map[string]string     // the request of each operation, by id
	looks      int                   // times that an operation is listed before it ends
	looked     int                   // how often the running one was
	outcome    string                // state in which operations end
	problem    string
}

func newMembers(nodes []*Node) members {
	m := members{number: 1, asked: map[string]string{}, looks: 1, outcome: api.OperationDone}
	for _, n := range nodes {
		m.list = append(m.list, api.Member{
			Node: n.ID, Name: fmt.Sprintf("node-%d", n.ID), Voter: true, Connected: true,
			Store: fmt.Sprintf("%032x", n.ID), PeerAddress: fmt.Sprintf("127.0.0.1:%d", 8299+n.ID),
		})
	}
	return m
}

// nonVoter reports whether the node is a member that does not vote.
func (m *members) nonVoter(node uint64) bool {
	return slices.ContainsFunc(m.list, func(x api.Member) bool { return x.Node == node && !x.Voter })
}

// drains reports whether the node was told to take no new clients.
func (m *members) drains(node uint64) bool {
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
}

// Members returns the list of members.
func (c *Cluster) Members() []api.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members.list)
}

// Begun returns how many operations on members were begun.
func (c *Cluster) Begun() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.members.operations)
}

// listMembers is the answer of node n. It brings the running operation nearer to its end.
func (c *Cluster) listMembers(n *Node) api.MemberList {
	m := &c.members
	out := api.MemberList{
		Cluster: c.id, Node: n.ID, Master: c.master, Number: m.number, Change: m.change, Settled: m.number,
		Members: []api.Member{}, Removed: slices.Concat([]string{}, m.removed), Operations: slices.Clone(m.operations),
	}
	for _, x := range m.list {
		if x.ClientAddress == "" && x.Node <= uint64(len(c.nodes)) {
			x.ClientAddress = strings.TrimPrefix(c.nodes[x.Node-1].URL, "http://")
		}
		x.Connected = x.Connected && (x.Node > uint64(len(c.nodes)) || !c.nodes[x.Node-1].stopped.Load())
		x.Draining = x.Draining && x.Node == n.ID // no node knows it of another one
		out.Members = append(out.Members, x)
	}
	if len(m.operations) == 0 || m.operations[0].State != api.OperationRunning {
		return out
	}
	if n.ID != c.master {
		out.Operations[0].Step = "" // only the master knows
	}
	if m.looked++; m.looks > 0 && m.looked >= m.looks {
		m.end(&m.operations[0])
	}
	return out
}

// end ends the running operation, which has its effect if it is done.
func (m *members) end(o *api.MemberOperation) {
	o.State, o.Problem, o.Step, m.looked = m.outcome, m.problem, "", 0
	if o.State != api.OperationDone {
		return
	}
	m.change++
	at := func(node uint64) int {
		return slices.IndexFunc(m.list, func(x api.Member) bool { return x.Node == node })
	}
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

// changeMembers carries out a POST about members.
func (c *Cluster) changeMembers(w http.ResponseWriter, r *http.Request, body []byte) func() {
	var b api.MemberRequest
	if decode(body, &b) != nil {
		return refuse(w, 400, api.CodeInvalid, "bad JSON")
	}
	m, kind := &c.members, strings.TrimPrefix(r.URL.Path, api.PathMembers+"/")
	switch r.URL.Path {
	case api.PathMembersCancel:
		return m.cancel(w, b.Operation)
	case api.PathMembersDrain:
		i := slices.IndexFunc(m.list, func(x api.Member) bool { return x.Node == b.Node })
		if i < 0 {
			return refuse(w, 404, api.CodeNotMember, fmt.Sprintf("node %d is not a member", b.Node))
		}
		if loss := c.drainLoss(m.list[i]); loss != "" && !b.Off && !b.Force {
			return refuse(w, 409, api.CodeQuorumLoss, loss)
		}
		m.list[i].Draining = !b.Off
		return sendText(w, "true")
	}
	if known, ok := m.asked[b.Operation]; ok {
		if known != r.URL.Path+string(body) {
			return refuse(w, 409, api.CodeKeyReused, "the operation id was used by another change")
		}
		i := slices.IndexFunc(m.operations, func(o api.MemberOperation) bool { return o.ID == b.Operation })
		return sendJSON(w, m.operations[i])
	}
	if status, code, text := m.refusal(kind, &b); code != "" {
		return refuse(w, status, code, text)
	}
	if b.DryRun {
		return sendJSON(w, m.plan(kind, &b))
	}
	if b.Operation == "" || bytes.ContainsAny([]byte(b.Operation), " \n") {
		return refuse(w, 400, api.CodeInvalid, "the client always sends an operation id")
	}
	o := api.MemberOperation{ID: b.Operation, Kind: kind, Node: b.Node, By: b.By, State: api.OperationRunning,
		Step: "it waits to be looked at"}
	if kind == api.ChangeReadmit {
		o.Name = b.Name
	}
	m.asked[b.Operation] = r.URL.Path + string(body)
	m.operations = slices.Insert(m.operations, 0, o)
	return sendJSON(w, o)
}

// drainLoss says what is lost if x is drained and stopped, or is empty.
func (c *Cluster) drainLoss(x api.Member) string {
	l := api.MemberList{Members: slices.Clone(c.members.list)}
	for i := range l.Members {
		if n := l.Members[i].Node; n <= uint64(len(c.nodes)) && c.nodes[n-1].stopped.Load() {
			l.Members[i].Connected = false
		}
	}
	return drain.Without(l, x.Node).Loss(x)
}

// refusal says why b cannot be carried out, or nothing. It chooses who takes a place.
func (m *members) refusal(kind string, b *api.MemberRequest) (status int, code api.Code, text string) {
	if len(m.operations) > 0 && m.operations[0].State == api.OperationRunning {
		o := m.operations[0]
		return 409, api.CodeMemberBusy, fmt.Sprintf("operation %s (%s node %d) runs: wait for it, or cancel it", o.ID, o.Kind, o.Node)
	}
	i := slices.IndexFunc(m.list, func(x api.Member) bool { return x.Node == b.Node })
	switch {
	case kind == api.ChangeAdd && b.Store == "" && !b.DryRun:
		return 400, api.CodeInvalid, "a node is added by starting it"
	case kind == api.ChangeReadmit && !slices.Contains(m.removed, b.Name):
		return 404, api.CodeNotMember, fmt.Sprintf("no removed member is named %q", b.Name)
	case kind == api.ChangeAdd, kind == api.ChangeReadmit:
	case i < 0:
		return 404, api.CodeNotMember, fmt.Sprintf("node %d is not a member", b.Node)
	case kind == api.ChangePromote && m.list[i].Voter:
		return 409, api.CodeMemberState, fmt.Sprintf("node %d is a voter already", b.Node)
	case kind == api.ChangeReplace && b.By == 0:
		if spare := slices.IndexFunc(m.list, func(x api.Member) bool { return !x.Voter && x.Node != b.Node }); spare >= 0 {
			b.By = m.list[spare].Node
		}
	case kind == api.ChangeRemove:
		left := m.without(i)
		if left.Failures < 0 && b.ForceQuorumLoss != left.Alive {
			return 409, api.CodeQuorumLoss, fmt.Sprintf("%d of the %d voters that are left are alive", left.Alive, left.Voters)
		}
	}
	return 0, "", ""
}

// without returns what the voters but the i-th member survive.
func (m *members) without(i int) api.Tolerance {
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

func (m *members) plan(kind string, b *api.MemberRequest) api.MemberPlan {
	i := slices.IndexFunc(m.list, func(x api.Member) bool { return x.Node == b.Node })
	now := m.without(-1)
	p := api.MemberPlan{Kind: kind, Steps: []string{fmt.Sprintf("%s node %d", kind, b.Node)}, Before: now, Meanwhile: now, After: now}
	if kind == api.ChangeRemove {
		p.After = m.without(i)
	}
	return p
}

func (m *members) cancel(w http.ResponseWriter, id string) func() {
	i := slices.IndexFunc(m.operations, func(o api.MemberOperation) bool { return o.ID == id })
	if i < 0 {
		return refuse(w, 404, api.CodeNotMember, "there is no operation "+id)
	}
	o := &m.operations[i]
	if o.State != api.OperationRunning && o.State != api.OperationCancelled {
		return refuse(w, 409, api.CodeMemberState, "operation "+id+" has ended: it is "+o.State)
	}
	o.State, o.Step, m.looked = api.OperationCancelled, "", 0
	return sendJSON(w, *o)
}
