package service

import (
	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/acl"
)

// What protocols ask of a Permit before a read that takes a while or shows a part of many things: Need… refuses the
// request, and for keys is decided once more after the read (requestreads.go). May… says, by the last decision, what of
// many things to show.

// NeedKey returns nil if the client may read a key.
func (p *Permit) NeedKey(key string) error { return p.need(acl.KeyRead(key)) }

// NeedSomeKey returns nil if the client may read any key that begins with prefix.
func (p *Permit) NeedSomeKey(prefix string) error { return p.needSome(acl.KeyRead(prefix)) }

// MayKey reports whether the client may read a key.
func (p *Permit) MayKey(key string) bool { return p.may(acl.KeyRead(key)) }

// MaySomeKey reports whether the client may read any key that begins with prefix.
func (p *Permit) MaySomeKey(prefix string) bool { return p.maySome(acl.KeyRead(prefix)) }

// MayKeys reports whether the client may read every key that begins with prefix.
func (p *Permit) MayKeys(prefix string) bool { return p.may(acl.KeyReadPrefix(prefix)) }

// NeedSessionsOf returns nil if the client may read the sessions of a node.
func (p *Permit) NeedSessionsOf(node string) error { return p.need(acl.SessionRead(node)) }

// NeedSomeSession returns nil if the client may read the sessions of any node.
func (p *Permit) NeedSomeSession() error { return p.needSome(acl.SessionRead("")) }

// MaySessionsOf reports whether the client may read the sessions of a node.
func (p *Permit) MaySessionsOf(node string) bool { return p.may(acl.SessionRead(node)) }

// MaySessions reports whether the client may read every session.
func (p *Permit) MaySessions() bool { return p.may(everySession) }

// NeedFence returns nil if the client may read a fence.
func (p *Permit) NeedFence(name string) error { return p.need(access.Fence(name, acl.Read)) }

// NeedOperator returns nil if the client may read what concerns the cluster.
func (p *Permit) NeedOperator() error { return p.need(acl.OperatorRead()) }

// MayOperator reports whether the client may read what concerns the cluster.
func (p *Permit) MayOperator() bool { return p.may(acl.OperatorRead()) }

// NeedAgent returns nil if the client may read what concerns a node.
func (p *Permit) NeedAgent(node string) error { return p.need(acl.AgentRead(node)) }

// KnownOperator reports whether the client may read what concerns the cluster or, with a node, what concerns that, as
// far as this node knows. It does not wait, and its result may be outdated: use it only for hints such as a request's
// place. Without tokens nothing is known.
func (p *Permit) KnownOperator(node string) bool {
	return p.tokens != nil && (p.tokens.Knows(acl.OperatorRead()) || node != "" && p.tokens.Knows(acl.AgentRead(node)))
}

// KnownStranger reports whether, as far as this node knows, the client has no token but the anonymous one, which may
// neither read nor write any key. Like KnownOperator it gives a hint, and does not wait.
func (p *Permit) KnownStranger() bool {
	t := p.tokens
	return t != nil && t.KnownAccessor() == api.AnonymousAccessor && !t.KnowsSome(acl.KeyRead("")) &&
		!t.KnowsSome(acl.KeyWrite(""))
}

var everySession = acl.Permission{Kind: acl.Session, Access: acl.Read, Prefix: true}

// PartDenied returns the place of the first part of c that needs what is missing, or -1.
func PartDenied(c *kv.Command, lacking *DeniedError) int {
	for i := range c.Parts {
		needs := access.EachNeed(&c.Parts[i], func(p acl.Permission, some bool) error {
			if p == lacking.Missing && some == lacking.Some {
				return lacking
			}
			return nil
		})
		if needs != nil {
			return i
		}
	}
	return -1
}
