package server

import (
	"fmt"
	"path/filepath"
	"time"

	"tenure/kv"
	"tenure/server/access"
)

// needsACL is what a node without --acl says once it knows that its cluster has tokens.
const needsACL = "this cluster has tokens, and this node would let everybody in: start it with --acl, as all nodes of the " +
	"cluster"

// errNeedsACL ends a node without --acl whose cluster has tokens.
var errNeedsACL = fmt.Errorf("%w: %s", ErrConfig, needsACL)

// newDecider returns the Decider of access rights, or nil if this node does not ask for tokens.
func (n *node) newDecider() *access.Decider {
	if !n.cfg.ACL {
		return nil
	}
	catchUp := func(timeout time.Duration) error {
		_, err := n.front.CatchUp(timeout)
		return err
	}
	return access.New(access.Config{CatchUp: catchUp, Now: time.Now,
		ResetFile: filepath.Join(n.cfg.Data, access.ResetFileName)})
}

// lastUsed returns when this node last allowed a token something; zero: not since it started.
func (n *node) lastUsed(accessor string) time.Time {
	if n.access == nil {
		return time.Time{}
	}
	return n.access.LastUsed(accessor)
}

// followACL has decisions made with the tokens and policies of state from now on. A node without --acl must not serve a
// cluster with tokens. If the state has tokens already, followACL returns an error. Otherwise, when the first token is
// applied, it closes the front for clients while the state is locked for writing, and ends the node.
func (n *node) followACL(state *kv.State) error {
	if n.access != nil {
		n.access.Publish(state.ACL())
		state.Observe(kv.Observer{ACL: func(uint64) { n.access.Publish(state.ACL()) }})
		return nil
	}
	if state.ACL().Bootstrap() != 0 {
		return errNeedsACL
	}
	state.Observe(kv.Observer{ACL: func(uint64) {
		if state.ACL().Bootstrap() != 0 {
			n.front.Close(needsACL)
			select {
			case n.tokens <- struct{}{}:
			default: // it ends already
			}
		}
	}})
	return nil
}
