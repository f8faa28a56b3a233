package access

import (
	"fmt"
	"strings"

	"tenure/kv"
	"tenure/server/acl"
)

// EachNeed calls need with each permission that a client needs for c, and returns the first error. If some is true, the
// client needs p for any one name with the prefix p.Name. EachNeed reads only c, as the store does: every listener
// decides about every command with it. It panics for an unknown operation, and for an operation that no client may
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
	all := func(list ...acl.Permission) error {
		for _, p := range list {
			if err := need(p, false); err != nil {
				return err
			}
		}
		return nil
	}
	switch c.Op {
	case kv.OpTransaction:
		for i := range c.Parts {
			if err := EachNeed(&c.Parts[i], need); err != nil {
				return err
			}
		}
		return nil
	case kv.OpSet, kv.OpDelete, kv.OpExpire:
		return all(acl.KeyWrite(c.Key))
	case kv.OpAdd, kv.OpTestAndSet, kv.OpRemove: // they answer with what was there
		return all(acl.KeyRead(c.Key), acl.KeyWrite(c.Key))
	case kv.OpRename, kv.OpMove: // what was there can be read under the new name
		return all(acl.KeyRead(c.Key), acl.KeyWrite(c.Key), acl.KeyWrite(c.NewKey))
	case kv.OpPrune:
		return all(acl.KeyWritePrefix(c.Key))
	case kv.OpGet, kv.OpGetOrEmpty, kv.OpCheckIndex, kv.OpCheckSession, kv.OpCheckNotExists, kv.OpCheckValue,
		kv.OpCheckUnchanged:
		return all(acl.KeyRead(c.Key))
	case kv.OpGetTree: // nothing can be left out: what is hidden would count for the size of the outcome
		return all(acl.KeyReadPrefix(c.Key))
	case kv.OpSessionCreate:
		return all(acl.SessionWrite(c.Session.Node))
	case kv.OpSessionDestroy, kv.OpSessionRenew, kv.OpBootstrap: // see above
		return nil
	case kv.OpDropFence:
		return all(toDrop(c)...)
	case kv.OpQuota:
		return all(acl.OperatorWrite())
	case kv.OpInstall:
		return all(acl.OperatorWrite(), acl.KeyWritePrefix(""), // and it replaces sessions, and raises fences
			acl.Permission{Kind: acl.Session, Access: acl.Write, Prefix: true},
			acl.Permission{Kind: acl.Lease, Access: acl.Write, Prefix: true})
	case kv.OpPutPolicy, kv.OpDropPolicy, kv.OpPutToken, kv.OpDropToken:
		return all(acl.ACLWrite())
	}
	return eachNeedOfSteps(c, need)
}

// eachNeedOfSteps is EachNeed for the commands of kv/steps.go and sequences of them.
func eachNeedOfSteps(c *kv.Command, need func(p acl.Permission, some bool) error) error {
	switch c.Op {
	case kv.OpSequence:
		for i := range c.Parts {
			if err := EachNeed(&c.Parts[i], need); err != nil {
				return err
			}
		}
		return nil
	case kv.OpFetch, kv.OpMeasure:
		return need(acl.KeyRead(c.Key), false)
	case kv.OpPut, kv.OpUnlink, kv.OpRetime:
		if c.Mode&(kv.ModeReturn|kv.ModeEqual) != 0 { // they tell what was there
			if err := need(acl.KeyRead(c.Key), false); err != nil {
				return err
			}
		}
		return need(acl.KeyWrite(c.Key), false)
	case kv.OpAppend, kv.OpIncrement: // they tell how long it was, or what
		if err := need(acl.KeyRead(c.Key), false); err != nil {
			return err
		}
		return need(acl.KeyWrite(c.Key), false)
	case kv.OpPutAll:
		return eachNeedOfPairs(c, need)
	}
	panic(fmt.Sprintf("access: nobody knows what operation %d needs", c.Op))
}

// eachNeedOfPairs is EachNeed for a command that writes several keys.
func eachNeedOfPairs(c *kv.Command, need func(p acl.Permission, some bool) error) error {
	var denied error
	err := c.EachPair(func(key string, _ []byte) bool {
		if c.Mode&(kv.ModeReturn|kv.ModeEqual) != 0 { // they tell what was there
			denied = need(acl.KeyRead(key), false)
		}
		if denied == nil {
			denied = need(acl.KeyWrite(key), false)
		}
		return denied == nil
	})
	if denied != nil {
		return denied
	}
	return err
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
