package web

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"slices"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/hostname"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/service"
)

// maxMemberBytes bounds the body of a request about members.
const maxMemberBytes = 4 << 10

// membersHandler answers requests about the members.
type membersHandler struct {
	bodies *bodies
}

// list answers with the members as this node has applied them.
func (h *membersHandler) list(x *exchange) error {
	return x.found(&plainRules, func() (any, error) {
		l, err := x.req.ListMembers()
		l.Members, l.Operations, l.Removed = notNil(l.Members), notNil(l.Operations), notNil(l.Removed)
		return l, err
	})
}

// change returns the handler that begins an operation of that kind, or only plans it. takes are the allowed members of
// the body besides operation and dry_run.
func (h *membersHandler) change(kind members.Kind, takes ...string) handler {
	takes = append([]string{"operation", "dry_run"}, takes...)
	return func(x *exchange) error {
		var body api.MemberRequest
		if err := h.read(x, kind.String(), &body, takes); err != nil {
			return err
		}
		op, err := operationOf(kind, &body)
		if err != nil {
			return err
		}
		if body.DryRun {
			return h.plan(x, op)
		}
		if body.Operation == "" {
			if err := x.refuseKeyFor("operation"); err != nil {
				return err
			}
		}
		return x.begun(x.req.ChangeMembers(op))
	}
}

// plan answers with what op would do.
func (h *membersHandler) plan(x *exchange, op members.Operation) error {
	p, err := x.req.PlanChange(op)
	if err != nil {
		return err
	}
	p.Steps = notNil(p.Steps)
	x.marshalled(p)
	return nil
}

// cancel takes an operation back.
func (h *membersHandler) cancel(x *exchange) error {
	var body api.MemberRequest
	if err := h.read(x, "cancel", &body, []string{"operation"}); err != nil {
		return err
	}
	if body.Operation == "" {
		return service.Invalid("operation is missing: name the one to cancel, as GET %s lists it: nothing was changed",
			api.PathMembers)
	}
	return x.begun(x.req.CancelChange(body.Operation))
}

// drain has a node hand over and take no new clients, or ends that.
func (h *membersHandler) drain(x *exchange) error {
	var body api.MemberRequest
	if err := h.read(x, "drain", &body, []string{"node", "off", "force"}); err != nil {
		return err
	}
	node, err := memberNode("node", body.Node)
	if err == nil && body.Off && body.Force {
		err = service.Invalid("force does not go with off: nothing was changed")
	}
	if err != nil {
		return err
	}
	if body.Off {
		x.op = "off"
	}
	if err := x.req.DrainNode(node, body.Off, body.Force); err != nil {
		return err
	}
	x.json(bodyTrue)
	return nil
}

// begun answers with an operation, or with why there is none. If that is not known, the text has the id to ask again
// with.
func (x *exchange) begun(op api.MemberOperation, err error) error {
	if err != nil {
		return err
	}
	x.marshalled(op)
	return nil
}

// found answers a read like shown, which needs a permission, of something that may not be there.
func (x *exchange) found(rules *rules, v func() (any, error)) error {
	q, err := parseQuery(x.r.URL.RawQuery, rules)
	if err != nil {
		return err
	}
	answer, err := v()
	if err != nil {
		return err
	}
	x.pretty(&q, answer)
	return nil
}

// read reads the query and the body of a request, and refuses members of it that do not go with the path.
func (h *membersHandler) read(x *exchange, what string, body *api.MemberRequest, takes []string) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules); err != nil {
		return err
	}
	if err := h.bodies.readJSON(x, maxMemberBytes, body); err != nil {
		return err
	}
	if err := onlyMembers(what, body, takes); err != nil {
		return err
	}
	return checkOperationID(body.Operation)
}

// operationOf returns the operation that a body asks for, checked. An empty id is drawn.
func operationOf(kind members.Kind, b *api.MemberRequest) (members.Operation, error) {
	op := members.Operation{ID: b.Operation, Kind: kind, NonVoter: b.NonVoter, Alive: b.ForceQuorumLoss, Differs: b.Differs,
		Member: ident.Member{Name: b.Name, PeerAddr: b.PeerAddress, ClientAddr: b.ClientAddress}}
	if op.ID == "" {
		op.ID = rand.Text()
	}
	err := firstError(checkMemberName(b.Name), checkMemberAddress("peer_address", b.PeerAddress),
		checkMemberAddress("client_address", b.ClientAddress))
	if err == nil && kind == members.Add {
		return op, joining(&op, b)
	}
	if err == nil && kind == members.Readmit {
		if b.Name == "" {
			err = service.Invalid("name is missing: GET %s lists the removed ones: nothing was changed",
				api.PathMembers)
		}
		return op, err
	}
	if err == nil {
		op.Node, err = memberNode("node", b.Node)
	}
	switch {
	case err != nil:
	case kind == members.Replace && b.By != 0:
		op.Member.Node, err = memberNode("by", b.By)
		if err == nil && op.Member.Node == op.Node {
			err = service.Invalid("node and by are both %d: name another member to take its place: nothing was changed",
				op.Node)
		}
	case kind == members.Update && b.Name+b.PeerAddress+b.ClientAddress == "":
		err = service.Invalid("there is nothing to update: give name, peer_address or client_address: nothing was changed")
	case b.ForceQuorumLoss < 0:
		err = service.Invalid("force_quorum_loss %d: must be how many voters are alive: nothing was changed",
			b.ForceQuorumLoss)
	}
	return op, err
}

// joining completes the addition op. Only a node that asks by itself knows the id of its store, so that without one
// nothing but a plan is made.
func joining(op *members.Operation, b *api.MemberRequest) error {
	switch {
	case b.Store == "" && !b.DryRun:
		return service.Invalid("a node is added by starting it: run kvnode --join HOST:PORT on its machine, with the peer " +
			"address of any member; with dry_run this tells what that does: nothing was changed")
	case b.Store == "":
		return nil
	case b.PeerAddress == "":
		return service.Invalid("peer_address is missing: others must know where the node is: nothing was changed")
	}
	id, err := hex.DecodeString(b.Store)
	copy(op.Member.Store[:], id)
	if err != nil || len(id) != len(op.Member.Store) || op.Member.Store.IsZero() {
		return service.Invalid("store %.80q: must be the id of a data directory, %d hexadecimal digits: nothing was changed",
			b.Store, 2*len(op.Member.Store))
	}
	return nil
}

// memberNode checks the id of a node.
func memberNode(what string, id uint64) (ballot.NodeID, error) {
	if id == 0 || id > uint64(ballot.MaxNodeID) {
		return 0, service.Invalid("%s %d: ids go from 1 to %d: nothing was changed", what, id, ballot.MaxNodeID)
	}
	return ballot.NodeID(id), nil
}

// checkOperationID refuses an id that could not be shown in a line.
func checkOperationID(id string) error {
	if len(id) > api.MaxOperationIDBytes {
		return service.Invalid("operation has %d bytes: at most %d are allowed: nothing was changed", len(id),
			api.MaxOperationIDBytes)
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] >= 0x7f {
			return service.Invalid("operation %.80q: must be of letters, digits and signs of ASCII, without spaces: "+
				"nothing was changed", id)
		}
	}
	return nil
}

// checkMemberName refuses a name that is ambiguous on a command line: names of digits alone are ids of nodes there.
func checkMemberName(name string) error {
	_, err := strconv.ParseUint(name, 10, 64)
	if err == nil || !ident.Plain(name, api.MaxMemberNameBytes) {
		return service.Invalid("name %.80q: must be up to %d characters of ASCII without spaces, and no number: "+
			"nothing was changed", name, api.MaxMemberNameBytes)
	}
	return nil
}

// checkMemberAddress refuses an address that others could not connect to.
func checkMemberAddress(what, address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	number, bad := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	if err != nil || bad != nil || number == 0 || host == "" || !hostname.ValidAddress(address) ||
		len(address) > api.MaxMemberAddressBytes || ip != nil && ip.IsUnspecified() {
		return service.Invalid("%s %.80q: must be the HOST:PORT at which others reach the node: nothing was changed",
			what, address)
	}
	return nil
}

// notNil returns list, or an empty one that JSON shows as such.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// onlyMembers refuses what b has besides the members that the path takes.
func onlyMembers(what string, b *api.MemberRequest, takes []string) error {
	for _, m := range [...]struct {
		name  string
		given bool
	}{
		{"operation", b.Operation != ""}, {"dry_run", b.DryRun}, {"node", b.Node != 0}, {"by", b.By != 0},
		{"name", b.Name != ""}, {"peer_address", b.PeerAddress != ""}, {"client_address", b.ClientAddress != ""},
		{"store", b.Store != ""}, {"non_voter", b.NonVoter}, {"force_quorum_loss", b.ForceQuorumLoss != 0},
		{"differs", b.Differs}, {"off", b.Off}, {"force", b.Force},
	} {
		if m.given && !slices.Contains(takes, m.name) {
			return service.Invalid("%s takes no %s, only %s: nothing was changed", what, m.name, strings.Join(takes, ", "))
		}
	}
	return nil
}
