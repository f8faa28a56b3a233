package service

import (
	"errors"

	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
)

// AddNames adds to the names of an act what c changes, as the store sees it, and reports whether c changes anything.
func AddNames(names *audit.Names, c *kv.Command) (acts bool) {
	c.EachWritten(func(key string, _ bool) bool { // empty, of a prune: every key
		names.Add(key)
		return true
	})
	switch c.Op {
	case kv.OpSessionCreate, kv.OpSessionDestroy, kv.OpSessionRenew:
		names.Add(c.Session.ID)
	case kv.OpQuota:
		names.Add(c.Key)
	case kv.OpDropFence:
		names.Add(c.Fence)
	}
	for i := range c.Parts {
		acts = acts || !c.Parts[i].Op.OnlyReads()
	}
	return acts || len(c.Parts) == 0 && !c.Op.OnlyReads()
}

// MissingIn returns the permission that is missing according to err, "" if err is not about one.
func MissingIn(err error) string {
	var denied *access.DeniedError
	if errors.As(err, &denied) {
		return denied.Missing.String()
	}
	return ""
}
