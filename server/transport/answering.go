package transport

import (
	"errors"
	"fmt"
	"io"
	"net"

	"tenure/internal/ident"
	"tenure/server/wire"
)

// answerAsk tells a node that has no cluster what this one knows. If the asker may found the cluster, the connection
// stays open for its bootstrap.
func (t *Transport) answerAsk(c *conn, m *wire.AskMsg) error {
	g := t.bootstrap.Load()
	if g == nil {
		r := refuse(wire.ReasonNotReady, "node %d is still starting", t.cfg.Self)
		c.refuse(r)
		return r
	}
	answer, r := t.judgeAsk(g, m)
	if r != nil {
		c.refuse(r)
		return r
	}
	agree := showList(m.List) == showList(g.cfg.List)
	t.remark(g, m, answer, agree)
	if answer.Formed() || answer.Over || !agree || !g.founder(m.From) {
		return c.send(answer)
	}
	if !g.hold(m.Store) {
		r := refuse(wire.ReasonNode, "two processes found the cluster as node %d, one of them with store %s: stop one of them", m.From, m.Store)
		c.refuse(r)
		return r
	}
	defer g.release()
	if err := c.send(answer); err != nil {
		return err
	}
	return t.awaitBootstrap(c, g, m)
}

// judgeAsk is the answer, or why there is none.
func (t *Transport) judgeAsk(g *bootstrap, m *wire.AskMsg) (*wire.AnswerMsg, *Refusal) {
	self := g.cfg.Self
	switch {
	case m.From == self && m.Store == g.cfg.Store:
		return nil, refuse(wire.ReasonSelf, "node %d has reached itself: the list gives its own address for node %d too", self, m.To)
	case m.To != self:
		return nil, refuse(wire.ReasonNode, "the address that the list gives for node %d leads to node %d: mend --cluster or start the node with its own --id",
			m.To, self)
	case m.From == self:
		return nil, refuse(wire.ReasonNode, "two processes run as node %d, with stores %s and %s: give one of them its own --id", self, g.cfg.Store, m.Store)
	}
	answer := &wire.AnswerMsg{Node: self, Store: g.cfg.Store, List: g.cfg.List}
	cluster, membership, formed := g.formed()
	if formed {
		answer.Cluster, answer.Membership = cluster, membership
		if membership.Lists(m.From, m.Store) && t.seen.used(m.From, m.Store) {
			return nil, refuse(wire.ReasonRolledBack, "node %d asks for its bootstrap with store %s, but this store took part in cluster %s before: "+
				"its data directory was rolled back. A store that has forgotten something must not vote; node %d takes no part.",
				m.From, m.Store, cluster, m.From)
		}
		return answer, nil
	}
	answer.Over = !g.waiting()
	return answer, nil
}

// remark logs, here too, what the asker will find wrong.
func (t *Transport) remark(g *bootstrap, m *wire.AskMsg, answer *wire.AnswerMsg, agree bool) {
	text := ""
	switch {
	case answer.Formed():
		store, listed := storeOf(answer.Membership, m.From)
		if !listed {
			text = fmt.Sprintf("node %d asks for a bootstrap, but is not in membership %s of this cluster", m.From, answer.Membership)
		} else if store != m.Store {
			text = fmt.Sprintf("node %d comes with the new store %s, but membership %d has store %s for it: it was wiped, or runs on another data directory. It takes no part.",
				m.From, m.Store, answer.Membership.Number, store)
		}
	case !agree:
		text = listsDiffer(g.cfg.Self, g.cfg.List, m.From, m.List).Text
	}
	if text != "" {
		t.complain(text, func() { t.cfg.Log.Warn().Uint64("peer", uint64(m.From)).Msg(text) })
	}
}

// awaitBootstrap waits for what the founder makes of the answers. That it goes away without a word is normal: another
// node did not answer.
func (t *Transport) awaitBootstrap(c *conn, g *bootstrap, ask *wire.AskMsg) error {
	m, err := c.receive()
	if err != nil {
		var timeout net.Error
		if errors.Is(err, io.EOF) || errors.As(err, &timeout) {
			return nil
		}
		return err
	}
	found, ok := m.(*wire.FoundMsg)
	if !ok {
		return unexpected(m)
	}
	if err := t.takeBootstrap(g, ident.Member{Node: ask.From, Store: ask.Store}, found); err != nil {
		r := refusalOf(err)
		c.refuse(r)
		return r
	}
	return c.send(&wire.FormedMsg{})
}

func (t *Transport) takeBootstrap(g *bootstrap, founder ident.Member, found *wire.FoundMsg) error {
	if !found.Membership.Lists(founder.Node, founder.Store) {
		return refuse(wire.ReasonBootstrap, "node %d founds a cluster with membership %s, in which it is not itself with its store %s",
			founder.Node, found.Membership, founder.Store)
	}
	return g.adopt(found.Cluster, found.Membership)
}

// refusalOf is err in the form that can be sent.
func refusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return &Refusal{Reason: wire.ReasonBootstrap, Text: err.Error()}
}
