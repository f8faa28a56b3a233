package backend

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/shown"
	"tenure/server/members"
	"tenure/server/service"
	"tenure/server/transport"
)

// addressesEvery is how often a node looks for members that have moved.
const addressesEvery = time.Second

// FollowAddresses has the addresses of moved members written into the membership, until stop is closed. A member has
// moved if it was not reached at its address in this node's --cluster, but was reached at the address that it states.
// Its data directory proves its identity. An address that the membership has already is left alone: it came from kvctl
// member update or from a join, and may be right from another network.
func (m *Members) FollowAddresses(stop <-chan struct{}) error {
	ticker := time.NewTicker(addressesEvery)
	defer ticker.Stop()
	said := map[ballot.NodeID]string{} // the last refusal of each
	for {
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
		for _, l := range m.cfg.Links() {
			if x, _, ok := m.cfg.List.Load().Find(l.Node); ok && hasMoved(x, &l) {
				m.writeAddress(&x, &l, said)
			}
		}
	}
}

// hasMoved reports whether the address of x, with that connection, is to be written down.
func hasMoved(x ident.Member, l *transport.PeerState) bool {
	return x.PeerAddr == "" && l.Moved && l.Log.Connected && NamesHost(l.Addr)
}

// writeAddress has the address at which a member is reached written down. Each run of the member has one operation for
// that, whichever nodes ask for it.
func (m *Members) writeAddress(x *ident.Member, l *transport.PeerState, said map[ballot.NodeID]string) {
	op := members.Operation{ID: fmt.Sprintf("address-%s", l.Incarnation), Kind: members.Update, Node: l.Node}
	op.Member.PeerAddr = l.Addr
	_, err := m.changes.askMaster(addressWait, members.Request{Op: op})
	log := m.cfg.Logger.With().Uint64("peer", uint64(l.Node)).Str("peer_address", l.Addr).Logger()
	var refused *service.Error
	switch {
	case err == nil:
		log.Info().Msg("this member was reached at the address at which it was started, and not where --cluster has it: " +
			"the members have written that address down")
	case errors.As(err, &refused) && said[l.Node] != refused.Text:
		said[l.Node] = refused.Text
		log.Warn().Err(err).Msgf("the new address of this member could not be written down: if that stays so, type kvctl "+
			"member update %s --peer-address %s", shown.Word(members.NameOf(*x)), l.Addr)
	}
}

// NamesHost reports whether addr is one to which others can connect: a host that is no wildcard, and a port.
func NamesHost(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && host != "" && port != "0" && (ip == nil || !ip.IsUnspecified())
}

// addressWait bounds one try to write an address down; another one follows.
const addressWait = 5 * time.Second

// MovedNote returns a text that says that the members look for a member at other addresses than its own, or "". The
// text ends with the command to type. who is the member's name in the text, m the member as listed, peer and client are
// its own addresses.
func MovedNote(who string, m ident.Member, peer, client string) string {
	var listed, own, update, advertise []string
	for _, a := range []struct{ what, listed, own string }{
		{"peer", m.PeerAddr, peer}, {"client", m.ClientAddr, client},
	} {
		if a.listed == "" || !NamesHost(a.own) || a.listed == a.own {
			continue
		}
		listed, own = append(listed, a.what+" "+a.listed), append(own, a.own)
		update = append(update, "--"+a.what+"-address "+a.own)
		advertise = append(advertise, "--advertise-"+a.what+" "+a.listed)
	}
	if len(listed) == 0 {
		return ""
	}
	return fmt.Sprintf("the members look for %s at %s, and it was started with %s: if it is reached where they look, start "+
		"it with %s; otherwise type: kvctl member update %s %s", who, strings.Join(listed, " and "),
		strings.Join(own, " and "),
		strings.Join(advertise, " "), shown.Word(members.NameOf(m)), strings.Join(update, " "))
}
