package multipaxos

import "tenure/internal/quorum"

// Whom a leader sends entries at once is policy. Paxos allows Accepts in any order and at any time, and nothing that is
// counted, promised or persisted depends on it: with all of this file wrong, writes would be slow, never wrong.
//
// Any quorum decides, and every frame costs processor time and a sync at the other end. So the owner may name the peers
// that are sent entries at once, enough for a quorum with this node. The others are sent what has gathered at the next
// tick, as one frame: one sync and one acknowledgement there for all of it.

// maxHeld is how many bytes of values gather for the others at most.
const maxHeld = 256 << 10

// prompt is whom a leader sends entries at once.
type prompt struct {
	set   quorum.Set // none: everybody
	held  int        // bytes proposed since everybody was sent everything
	hurry bool       // the next flush sends everybody everything
}

// proposed is told of another value, with so many bytes.
func (x *prompt) proposed(bytes int) {
	if x.held += bytes + recordBytes; x.held >= maxHeld {
		x.hurry = true
	}
}

// sent is told that everybody has been sent everything, as far as their windows allow.
func (x *prompt) sent() { x.held, x.hurry = 0, false }

// holdsBack reports whether p is to wait. A peer that is being asked whether it is there does not. While a membership
// entry is open, two memberships count, and the set is of one of them: nobody waits.
func (x *prompt) holdsBack(p *peer, a *acceptor) bool {
	return !x.hurry && x.set.Len() > 0 && !x.set.Has(p.node) && !p.probe && !a.memberships.open()
}

// SetPrompt names the peers that are sent entries at once, as long as this node leads under the present ballot. None:
// everybody is.
func (c *Core) SetPrompt(peers quorum.Set) { c.leader.prompt.set = peers }

// Hurry sends everybody everything with the next Take.
func (c *Core) Hurry() { c.leader.prompt.hurry = true }
