package web

import (
	"fmt"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/service"
)

// maxTransferBytes bounds the body of a transfer.
const maxTransferBytes = 4 << 10

// transferHandler moves the mastership to another node.
type transferHandler struct {
	cluster service.Cluster
	bodies  *bodies
}

// transfer asks the master to hand over: a body of {"Node":N} names the node to try, none lets it choose.
func (h *transferHandler) transfer(x *exchange) error {
	to, err := h.target(x)
	if err == nil {
		err = x.req.Transfer(to)
	}
	if err != nil {
		return err
	}
	x.json(bodyTrue)
	return nil
}

func (h *transferHandler) target(x *exchange) (ballot.NodeID, error) {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules); err != nil {
		return 0, err
	}
	if keyed(x) {
		return 0, service.Invalid("%s means nothing here, since a second copy would hand over once more: "+
			"ask who is master first: nothing was changed", api.HeaderIdempotencyKey)
	}
	var body api.Transfer
	if err := h.bodies.readJSON(x, maxTransferBytes, &body); err != nil {
		return 0, fmt.Errorf(`%w: send {"Node":N} with the id of a node, or no body`, err)
	}
	if body.Node > uint64(ballot.MaxNodeID) {
		return 0, service.Invalid("node %d: ids go from 1 to %d", body.Node, ballot.MaxNodeID)
	}
	return ballot.NodeID(body.Node), checkMember(h.cluster.Status(), body.Node)
}

// checkMember refuses a node that is not a member, or does not vote, as far as the members are known here. 0 is none.
func checkMember(st api.Status, id uint64) error {
	if id == 0 || id == st.Node || len(st.Peers) == 0 {
		return nil
	}
	members := []string{strconv.FormatUint(st.Node, 10)}
	for _, p := range st.Peers {
		if p.Node == id && p.NonVoter {
			return service.Invalid("node %d is a non-voter, which cannot be master: nothing was changed", id)
		}
		if p.Node == id {
			return nil
		}
		members = append(members, strconv.FormatUint(p.Node, 10))
	}
	return service.Invalid("node %d is not a member: members are %s: nothing was changed", id, strings.Join(members, ", "))
}
