package explore

import "tenure/lease/named"

// Named leases leave some duties to their users: to a client, to the node that it asks, and to the node that runs an
// acceptor. The mutants that break such a duty break it here.

// acquisition is N1: an acquisition has an id that no other one ever has.
func (x *namedClient) acquisition() named.Acquisition { return named.Acquisition{x.who + 1, x.begun} }

// grant is N1: an answer is an answer to one ask of one acquisition.
func (x *namedClient) grant(m *namedMail) bool { return m.who == x.who && m.begun == x.begun }

// mine is P2: a reply is for one run of a node. Counters begin anew in each.
func (x *namedNode) mine(m *namedMail) bool { return m.node == x.who && m.run == x.run }

// applied is N3: an entry of the log gives an era to one run of one node.
func (x *namedTable) applied(e eraEntry) {
	if e.run == x.run {
		x.table.Open(e.era)
	}
}
