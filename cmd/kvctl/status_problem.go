package main

import (
	"fmt"
	"slices"
	"strings"

	"tenure/api"
	"tenure/client"
)

// wrong returns what is wrong with a node that answers, as it says itself and as others say that refuse it. A node
// without a master is no witness against others: the fault may be its own.
func (s survey) wrong(n nodeView) (list []string) {
	if why := n.status.Problem; why != "" {
		if n.status.Role == api.RoleNone {
			why = "takes no part: " + why
		}
		list = append(list, why)
	}
	for _, o := range s {
		if !o.answers() || o.old() || o.status.Master == 0 || o.status.Cluster != n.status.Cluster {
			continue
		}
		for _, p := range o.status.Peers {
			if p.Node == n.status.Node && !p.Connected && p.Problem != "" {
				list = append(list, fmt.Sprintf("not connected with node %d, which says: %s", o.status.Node, p.Problem))
			}
		}
	}
	return list
}

// complaint is problem, and else names the nodes that answer and with which something is wrong.
func (s survey) complaint() error {
	if err := s.problem(); err != nil {
		return err
	}
	var nodes []string
	for _, n := range s {
		if n.answers() && len(s.wrong(n)) > 0 {
			nodes = append(nodes, fmt.Sprintf("node %d", n.status.Node))
		}
	}
	switch len(nodes) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s does not work as it should; the cluster does", nodes[0])
	}
	return fmt.Errorf("%s do not work as they should; the cluster does", strings.Join(nodes, ", "))
}

// vouched returns the master of which another node, connected to it, has heard that its lease has not expired; 0: none.
// If the master does not answer here, the fault lies between, as with a certificate that only this client refuses. The
// lease is also proof of a majority.
func (s survey) vouched() uint64 {
	for _, n := range s {
		x := n.status
		if n.answers() && !n.old() && x.Role != client.RoleMaster && x.Lease.RemainingMS > 0 &&
			slices.ContainsFunc(x.Peers, func(p api.PeerStatus) bool { return p.Node == x.Master && p.Connected }) {
			return x.Master
		}
	}
	return 0
}
