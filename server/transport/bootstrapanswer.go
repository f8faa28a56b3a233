package transport

import (
	"errors"
	"fmt"
	"io"
	"net"

	"tenure/internal/ident"
	"tenure/server/wire"
)

// answerer answers nodes that ask about the cluster, and takes the result from a founder.
type answerer struct {
	*bootstrap
	history *History
	log     *rareLog
}

// answer serves the connection of a node that asks. If that node may found the cluster, the connection stays open for
// the result.
func (a *answerer) answer(c *conn, m *wire.AskMsg) error {
	answer, r := a.prepare(m, c.cert)
	if r != nil {
		return c.refuse(r)
	}
	agree := showList(m.List) == showList(a.cfg.List)
	a.logMistakes(c.share(), m, answer, agree)
	if answer.Formed() || answer.Over || !agree || !a.founder(m.From) {
		return c.send(answer)
	}
	if !a.hold(m.Store) {
		return c.refuse(refuse(wire.ReasonNode,
			"two processes found the cluster as node %d, one of them with store %s: stop one of them", m.From, m.Store))
	}
	defer a.release()
	if err := c.send(answer); err != nil {
		return err
	}
	return a.awaitResult(c, m)
}

// prepare returns the answer, or why the question must be refused.
func (a *answerer) prepare(m *wire.AskMsg, cert string) (*wire.AnswerMsg, *Refusal) {
	self := a.cfg.Self
	switch {
	case m.From == self && m.Store == a.cfg.Store:
		return nil, refuse(wire.ReasonSelf,
			"node %d has reached itself: the list gives its own address for node %d; if this is node %[2]d, give it its own "+
				"--id, else mend --cluster", self, m.To)
	case m.To != self:
		return nil, refuse(wire.ReasonNode, "the address that the list gives for node %d leads to node %d: "+
			"mend --cluster or start the node with its own --id", m.To, self)
	case m.From == self:
		return nil, refuse(wire.ReasonNode,
			"two processes run as node %d, with stores %s and %s: give one of them its own --id",
			self, a.cfg.Store, m.Store)
	}
	answer := &wire.AnswerMsg{Node: self, Store: a.cfg.Store, List: a.cfg.List}
	cluster, membership, formed := a.formed()
	if formed {
		answer.Cluster, answer.Membership = cluster, membership
		if r := checkName(m.From, cert, membership, self); r != nil {
			return nil, r
		}
		if membership.Lists(m.From, m.Store) && a.history.tookPart(m.From, m.Store) {
			return nil, refuse(wire.ReasonRolledBack, "node %d asks for its bootstrap with store %s, "+
				"but this store took part in cluster %s before: its data directory was rolled back. "+
				"A store that has forgotten something must not vote; node %d takes no part.",
				m.From, m.Store, cluster, m.From)
		}
		return answer, nil
	}
	answer.Over = !a.waiting()
	return answer, nil
}

// logMistakes logs the mistakes that the asking node will report, so that this node's log has them too.
func (a *answerer) logMistakes(of share, m *wire.AskMsg, answer *wire.AnswerMsg, agree bool) {
	text := ""
	switch {
	case answer.Formed():
		store, listed := storeOf(answer.Membership, m.From)
		if !listed {
			text = fmt.Sprintf("node %d asks for a bootstrap, but is not in membership %s of this cluster",
				m.From, answer.Membership)
		} else if store != m.Store {
			text = fmt.Sprintf("node %d comes with the new store %s, but membership %d has store %s for it: "+
				"it was wiped, or runs on another data directory. It takes no part.",
				m.From, m.Store, answer.Membership.Number, store)
		}
	case !agree:
		text = listsDiffer(a.cfg.Self, a.cfg.List, m.From, m.List).Text
	}
	if text != "" {
		a.log.rarely(of, text, func() { a.log.Warn().Uint64("peer", uint64(m.From)).Msg(text) })
	}
}

// awaitResult waits for the founder's result. The founder may instead close the connection, because another node did
// not answer.
func (a *answerer) awaitResult(c *conn, ask *wire.AskMsg) error {
	found, err := expect[*wire.FoundMsg](c)
	if err != nil {
		var timeout net.Error
		if errors.Is(err, io.EOF) || errors.As(err, &timeout) {
			return nil
		}
		return err
	}
	if err := a.adoptFound(ident.Member{Node: ask.From, Store: ask.Store}, c.cert, found); err != nil {
		var r *Refusal
		if !errors.As(err, &r) {
			r = &Refusal{Reason: wire.ReasonBootstrap, Text: err.Error()}
		}
		return c.refuse(r)
	}
	return c.send(&wire.FormedMsg{})
}

// adoptFound adopts the result from a founder whose certificate has the name cert.
func (a *answerer) adoptFound(founder ident.Member, cert string, found *wire.FoundMsg) error {
	if !found.Membership.Lists(founder.Node, founder.Store) {
		return refuse(wire.ReasonBootstrap,
			"node %d founds a cluster with membership %s, in which it is not itself with its store %s",
			founder.Node, found.Membership, founder.Store)
	}
	if r := checkName(founder.Node, cert, found.Membership, a.cfg.Self); r != nil {
		return r
	}
	return a.adopt(found.Cluster, found.Membership)
}
