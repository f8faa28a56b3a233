package resp

import (
	"net"
	"slices"
	"strconv"

	"tenure/api"
	"tenure/server/resp/proto"
)

// The commands that ask about the nodes of the cluster.
var clusterCommands = []command{
	{name: "role", arity: 1, run: role},
	{name: "wait", arity: 3, alone: true, run: wait},
	{name: "sentinel", arity: -2, run: sentinel},
}

// node is a node of the cluster that serves the Redis protocol.
type node struct {
	id         uint64
	host, port string
	connected  bool
}

// nodes is what this node knows of the cluster.
type nodes struct {
	self   node
	others []node // only those that serve the Redis protocol
	master uint64 // 0: none is known
	voters int
}

// nodes asks the node.
func (c *conn) nodes() nodes { return nodesOf(c.to.Status(), c.cfg.Advertised) }

// nodesOf reads a status; own is where clients reach the node itself.
func nodesOf(s api.Status, own string) nodes {
	n := nodes{self: nodeAt(s.Node, own, true), master: s.Master}
	if s.Role == api.RoleMaster || s.Role == api.RoleFollower {
		n.voters++
	}
	for _, p := range s.Peers {
		if !p.NonVoter {
			n.voters++
		}
		if p.RedisAddress != "" {
			n.others = append(n.others, nodeAt(p.Node, p.RedisAddress, p.Connected))
		}
	}
	return n
}

func nodeAt(id uint64, address string, connected bool) node {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, "0"
	}
	return node{id: id, host: host, port: port, connected: connected}
}

// theMaster returns the master, if one is known and it serves the Redis protocol.
func (n *nodes) theMaster() (node, bool) {
	all := append([]node{n.self}, n.others...)
	i := slices.IndexFunc(all, func(o node) bool { return o.id == n.master })
	if n.master == 0 || i < 0 {
		return node{}, false
	}
	return all[i], true
}

// replicas returns the nodes that are not the master.
func (n *nodes) replicas() []node {
	var list []node
	for _, o := range append([]node{n.self}, n.others...) {
		if o.id != n.master {
			list = append(list, o)
		}
	}
	return list
}

// role replies what this node is, as Redis does.
func role(c *conn, _ [][]byte) {
	s := c.to.Status()
	n := nodesOf(s, c.cfg.Advertised)
	offset := int64(s.Applied)
	if n.master == n.self.id && n.master != 0 {
		c.batch.reply(func(w *proto.Writer) {
			w.Array(3)
			w.Text("master")
			w.Int(offset)
			w.Array(len(n.others))
			for _, o := range n.others {
				texts(w, []string{o.host, o.port, strconv.FormatUint(appliedBy(&s, o.id), 10)})
			}
		})
		return
	}
	m, known := n.theMaster()
	state := "connected"
	if !known || !m.connected {
		state = "connect"
	}
	port, _ := strconv.ParseInt(m.port, 10, 32) // 0 if none is known
	c.batch.reply(func(w *proto.Writer) {
		w.Array(5)
		w.Text("slave")
		w.Text(m.host)
		w.Int(port)
		w.Text(state)
		w.Int(offset)
	})
}

// appliedBy returns the slot through which a peer has applied the log, as last heard.
func appliedBy(s *api.Status, id uint64) uint64 {
	for _, p := range s.Peers {
		if p.Node == id {
			return p.Applied
		}
	}
	return 0
}
