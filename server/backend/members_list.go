package backend

import (
	"cmp"
	"slices"

	"tenure/api"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/runner"
)

// ListMembers returns the members as this node has applied them, and what it knows of each.
func (b *Cluster) ListMembers() (api.MemberList, error) {
	v, now := b.cfg.Log.View(), b.cfg.Clock.Now()
	list, record := b.cfg.Members.Load(), v.Record
	if !list.Newer(record.Membership) {
		list = record.Membership
	}
	out := api.MemberList{
		Cluster: b.ClusterID(), Node: uint64(b.cfg.Identity.Node), Master: uint64(v.Master),
		Number: list.Number, Change: list.Change, Settled: record.Settled, Era: list.Era,
		Removed: record.Removed,
	}
	peers := map[uint64]api.PeerStatus{}
	for _, p := range b.peers(v, now) {
		peers[p.Node] = p
	}
	for _, x := range list.All() {
		_, voter, _ := list.Find(x.Node)
		shown := b.member(x, voter, peers[uint64(x.Node)], v)
		_, shown.Spare = record.Spare(x.Node)
		out.Members = append(out.Members, shown)
	}
	for _, op := range slices.Backward(record.Operations) {
		out.Operations = append(out.Operations, runningOperation(op, v))
	}
	return out, nil
}

// runningOperation is shownOperation with what an operation that runs waits for, if this node knows it.
func runningOperation(op members.Operation, v *runner.LogView) api.MemberOperation {
	out := shownOperation(op)
	if op.State == members.Running {
		out.Step, out.WaitMS = v.Waits, millisecondsLeft(v.SettleLeft)
	}
	return out
}

// shownOperation returns op as the API has it.
func shownOperation(op members.Operation) api.MemberOperation {
	out := api.MemberOperation{ID: op.ID, Kind: op.Kind.String(), State: op.State.String(), Node: uint64(op.Node),
		Problem: op.Problem}
	switch op.Kind {
	case members.Add:
		out.Node = uint64(op.Member.Node)
	case members.Replace:
		out.By = uint64(op.Member.Node)
	case members.Readmit:
		out.Name = op.Member.Name
	}
	return out
}

// known returns the members with the addresses at which this node reaches them, and clients do. An address of another
// node is known only while that is connected, since it may have moved, and --cluster may have where it was before. One
// that names no host is of no use to others.
func (b *Cluster) known() []ident.Member {
	links := b.cfg.Links()
	var out []ident.Member
	for _, x := range b.cfg.Members.Load().All() {
		if x.Node == b.cfg.Identity.Node {
			x.PeerAddr, x.ClientAddr = b.cfg.Members.Address(x.Node), b.cfg.ClientAddr
			if b.cfg.Unjoinable {
				x.PeerAddr = ""
			}
		}
		for _, l := range links {
			if l.Node == x.Node && l.Log.Connected {
				x.ClientAddr = l.ClientAddr
				if l.Proven {
					x.PeerAddr = l.Addr
				}
			}
		}
		for _, a := range []*string{&x.PeerAddr, &x.ClientAddr} {
			if !NamesHost(*a) {
				*a = ""
			}
		}
		out = append(out, x)
	}
	return out
}

// member returns the api.Member for x. p is x among the peers, unless x is this node.
func (b *Cluster) member(x ident.Member, voter bool, p api.PeerStatus, v *runner.LogView) api.Member {
	out := api.Member{
		Node: uint64(x.Node), Name: members.NameOf(x), Voter: voter, Store: x.Store.String(),
		PeerAddress: x.PeerAddr, ClientAddress: x.ClientAddr,
		Connected: p.Connected, LastHeardMS: p.LastHeardMS, Applied: p.Applied,
	}
	if x.Node == b.cfg.Identity.Node {
		out.Connected, out.LastHeardMS, out.Applied, out.Draining = true, 0, v.Applied, b.cfg.Draining()
		p.ClientAddress = b.cfg.ClientAddr
	}
	out.PeerAddress = cmp.Or(out.PeerAddress, b.cfg.Members.Address(x.Node))
	if b.cfg.Unjoinable && x.Node == b.cfg.Identity.Node {
		out.PeerAddress = ""
	}
	out.ClientAddress = cmp.Or(out.ClientAddress, p.ClientAddress)
	out.Lag = v.Chosen - min(v.Chosen, out.Applied)
	return out
}
