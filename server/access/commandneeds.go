package access

import (
	"fmt"
	"strings"

	"tenure/kv"
	"tenure/server/acl"
)

// EachNeed calls need with each permission that a client needs for c, and returns the first error. If some is true, the
// client needs p for at least one name that begins with p.Name. EachNeed reads only c, as the store does: with it every
// listener decides about every command. It panics for an unknown operation, and for an operation that no client may
// request.
//
// It does not call need for the end or renewal of a session, because c lacks the session's node: the caller has decided
// before. Nor does it for a bootstrap, which the state allows once.
func EachNeed(c *kv.Command, need func(p acl.Permission, some bool) error) error {
	if c.Fence != "" {
		if err := need(Fence(c.Fence, acl.Write), false); err != nil {
			return err
		}
	}
	if list, named := besideKeys(c); named {
		for _, p := range list {
			if err := need(p, false); err != nil {
				return err
			}
		}
		return nil
	}
	if !c.Op.OnKeys() {
		panic(fmt.Sprintf("access: nobody knows what operation %d needs", c.Op))
	}
	for i := range c.Parts {
		if err := EachNeed(&c.Parts[i], need); err != nil {
			return err
		}
	}
	if len(c.Parts) > 0 {
		return nil
	}
	return eachNeedOnKeys(c, need)
}

// eachNeedOnKeys calls need with the permissions to read the keys of EachTold and to write those of EachWritten. A key
// that is moved can be read under its new name, so moving tells of it.
func eachNeedOnKeys(c *kv.Command, need func(p acl.Permission, some bool) error) error {
	err := errNoKey
	all := func(access acl.Access, key string, below bool) bool {
		err = need(acl.Permission{Kind: acl.Key, Access: access, Name: key, Prefix: below}, false)
		return err == nil
	}
	if c.EachTold(func(key string, below bool) bool { return all(acl.Read, key, below) }) {
		c.EachWritten(func(key string, below bool) bool { return all(acl.Write, key, below) })
	}
	return err
}

var errNoKey = fmt.Errorf("%w: it names no key", kv.ErrCommand)

// besideKeys returns what an operation needs that is about other things than keys. named is false for all others.
func besideKeys(c *kv.Command) (list []acl.Permission, named bool) {
	switch c.Op {
	case kv.OpSessionCreate:
		list = []acl.Permission{acl.SessionWrite(c.Session.Node)}
	case kv.OpSessionDestroy, kv.OpSessionRenew, kv.OpBootstrap: // see EachNeed
	case kv.OpDropFence:
		list = toDrop(c)
	case kv.OpQuota:
		list = []acl.Permission{acl.OperatorWrite()}
	case kv.OpInstall: // it replaces sessions too, and raises fences
		list = []acl.Permission{acl.OperatorWrite(), acl.KeyWritePrefix(""),
			{Kind: acl.Session, Access: acl.Write, Prefix: true}, {Kind: acl.Lease, Access: acl.Write, Prefix: true}}
	case kv.OpPutPolicy, kv.OpDropPolicy, kv.OpPutToken, kv.OpDropToken:
		list = []acl.Permission{acl.ACLWrite()}
	default:
		return nil, false
	}
	return list, true
}

// Fence returns the permission to do something with a fence: it can keep others from writing, or says how far they have
// come.
func Fence(name string, a acl.Access) acl.Permission {
	if lease, ok := strings.CutPrefix(name, "lease/"); ok {
		return acl.Permission{Kind: acl.Lease, Access: a, Name: lease}
	}
	return acl.Permission{Kind: acl.Key, Access: a, Name: strings.TrimPrefix(name, "kv/")}
}

// toDrop returns the permissions needed to drop a fence, besides those for its name. The dropped token becomes the
// floor of every unknown fence of its kind, so permission for one fence is not enough.
func toDrop(c *kv.Command) []acl.Permission {
	every := Fence(c.Fence, acl.Write)
	every.Name, every.Prefix = "", true
	if c.HasIndex { // the floor may fall: old tokens may pass again
		return []acl.Permission{every, acl.OperatorWrite()}
	}
	return []acl.Permission{every}
}
