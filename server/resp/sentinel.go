package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenure/server/resp/proto"
)

// Clients that know Redis Sentinel find the master by it. Every node answers as a Sentinel for all nodes, under any
// name of a master: there is one master. A node knows the addresses of the others from their connections.

// switchChannel is the channel that tells of another master.
const switchChannel = "+switch-master"

// defaultName is the name of the master that is listed if nobody has asked for any.
const defaultName = "mymaster"

// The bounds of the names of masters that are remembered, of one connection or client and of all clients.
const (
	maxMasterNames     = 64
	allMasterNames     = 4096
	maxMasterNameBytes = 128
)

// ask remembers that the client has asked for the master of a name. The connection keeps the name for itself, and the
// node for the client's other connections: clients ask on one and subscribe on another.
func (s *subscriptions) ask(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.asked, name) {
		if len(s.asked) == maxMasterNames {
			s.asked = slices.Delete(s.asked, 0, 1)
		}
		s.asked = append(s.asked, name)
	}
	s.shared.asked.put(s.client, name, struct{}{})
}

// masterNames returns the names that the client has asked for, and defaultName, with mu held.
func (s *subscriptions) masterNames() []string {
	names := slices.Clone(s.asked)
	for _, name := range s.shared.asked.keys(s.client) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if slices.Contains(names, defaultName) {
		return names
	}
	return append([]string{defaultName}, names...)
}

func sentinel(c *conn, args [][]byte) {
	n := c.nodes()
	sub := strings.ToLower(string(args[1]))
	switch {
	case sub == "myid" && len(args) == 2:
		c.batch.reply(func(w *proto.Writer) { w.Text(runID(n.self)) })
		return
	case sub == "masters" && len(args) == 2:
		c.masters(&n)
		return
	case len(args) != 3 || !slices.Contains(strings.Fields(namedSubcommands), sub):
		c.fail("ERR unknown subcommand or wrong number of arguments for '" + string(args[1]) + "': of SENTINEL there are " +
			namedSubcommands + " with a name, masters and myid")
		return
	case len(args[2]) > maxMasterNameBytes:
		c.fail("ERR the name of a master has at most " + strconv.Itoa(maxMasterNameBytes) + " bytes")
		return
	}
	name := string(args[2])
	c.subs.ask(name)
	m, known := n.theMaster()
	switch {
	case sub == "get-master-addr-by-name" && !known:
		c.batch.reply((*proto.Writer).NullArray)
	case sub == "get-master-addr-by-name":
		c.batch.reply(func(w *proto.Writer) { texts(w, []string{m.host, m.port}) })
	case sub == "master" && !known:
		c.fail("ERR no master is known at this moment: ask again")
	case sub == "master":
		c.batch.reply(func(w *proto.Writer) { describe(w, m.asMaster(name, &n)) })
	case sub == "sentinels":
		c.batch.reply(func(w *proto.Writer) {
			describeAll(w, n.others, func(o node) []string { return o.as(o.address(), "sentinel") })
		})
	default:
		c.batch.reply(func(w *proto.Writer) {
			describeAll(w, n.replicas(), func(o node) []string {
				return append(o.as(o.address(), "slave"), "master-host", m.host, "master-port", m.port, "master-link-status", "ok",
					"slave-priority", "100")
			})
		})
	}
}

// namedSubcommands are those of SENTINEL that take the name of a master.
const namedSubcommands = "get-master-addr-by-name master replicas slaves sentinels"

// masters replies the master under each name that the client knows it by.
func (c *conn) masters(n *nodes) {
	m, known := n.theMaster()
	c.subs.mu.Lock()
	names := c.subs.masterNames()
	c.subs.mu.Unlock()
	if !known {
		names = nil
	}
	c.batch.reply(func(w *proto.Writer) {
		w.Array(len(names))
		for _, name := range names {
			describe(w, m.asMaster(name, n))
		}
	})
}

// runID returns the id of a node as Sentinel has them.
func runID(o node) string {
	sum := sha1.Sum([]byte(fmt.Sprintf("tenure node %d", o.id)))
	return hex.EncodeToString(sum[:])
}

func (o node) address() string { return o.host + ":" + o.port }

// as returns what Sentinel says of every node, name and value in turn.
func (o node) as(name, kind string) []string {
	flags := kind
	if !o.connected {
		flags += ",s_down,disconnected"
	}
	return []string{"name", name, "ip", o.host, "port", o.port, "runid", runID(o), "flags", flags}
}

// asMaster returns what Sentinel says of the master.
func (o node) asMaster(name string, n *nodes) []string {
	return append(o.as(name, "master"), "num-slaves", strconv.Itoa(len(n.others)), "num-other-sentinels",
		strconv.Itoa(len(n.others)), "quorum", strconv.Itoa(n.voters/2+1))
}

func describe(w *proto.Writer, pairs []string) {
	w.Map(len(pairs) / 2)
	for _, t := range pairs {
		w.Text(t)
	}
}

func describeAll(w *proto.Writer, list []node, of func(node) []string) {
	w.Array(len(list))
	for _, o := range list {
		describe(w, of(o))
	}
}

// lookForMaster returns the master, if one is known.
func (s *subscriptions) lookForMaster() (node, bool) {
	n := nodesOf(s.to.Status(), s.cfg.Advertised)
	return n.theMaster()
}

// switches tells a connection of another master, if it is subscribed to that.
type switches struct {
	*notifier
	look func() (node, bool) // the master as the node knows it now
	last node                // the master that was known last
}

// tell sends a message for each name of the master if it is another one than before.
func (s *switches) tell() error {
	s.subs.mu.Lock()
	defer s.subs.mu.Unlock()
	if !s.subs.hears(switchChannel) {
		return nil
	}
	m, known := s.look()
	if !known || m.id == s.last.id {
		return nil
	}
	was := s.last
	if s.last = m; was.id == 0 {
		return nil
	}
	s.out.V3 = s.subs.v3
	for _, name := range s.subs.masterNames() {
		text := strings.Join([]string{name, was.host, was.port, m.host, m.port}, " ")
		if err := s.message(everyRevision, switchChannel, text); err != nil {
			return err
		}
	}
	return sendAll(s.net, &s.out, s.timeout)
}
