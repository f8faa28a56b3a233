package web

import (
	"cmp"
	"fmt"

	"tenure/kv"
)

// txnOutcome is what a transaction came to, as Consul tells it: all entries that its operations answer or, if it was not
// done, why operations failed.
type txnOutcome struct {
	entries []kv.Entry
	errors  []txnError
}

type txnError struct {
	part int // its place
	what string
}

// outcomeOf reads res, the result of the transaction c.
func outcomeOf(c *kv.Command, res *kv.Result) (txnOutcome, error) {
	var out txnOutcome
	steps := kv.StepsOf(res)
	for i := range c.Parts {
		p := &c.Parts[i]
		r, err := steps.Next()
		if err != nil {
			return txnOutcome{}, errResult
		}
		if r.Code != kv.CodeDone {
			out.errors = append(out.errors, txnError{i, whyFailed(p, &r)})
			continue
		}
		if res.Code != kv.CodeDone {
			continue
		}
		told, err := kv.DecodeEntries(r.Body)
		if err != nil || len(told) > 1 && p.Op != kv.OpGetTree {
			return txnOutcome{}, errResult
		}
		if len(told) == 0 && p.Op == kv.OpGetOrEmpty {
			told = []kv.Entry{{Key: p.Key}}
		}
		out.entries = append(out.entries, told...)
	}
	return out, nil
}

// whyFailed returns a text for the result of p, which was not done. The texts are close to those of Consul, which people
// know.
func whyFailed(p *kv.Part, r *kv.Result) string {
	switch {
	case r.Code == kv.CodeNoSession:
		return noSession(p)
	case r.Code == kv.CodeQuota: // its figures are not for every client
		return fmt.Sprintf("failed at key %q: the quota of a prefix does not allow it", cmp.Or(p.NewKey, p.Key))
	case r.Code == kv.CodeMissing:
		return fmt.Sprintf("key %q doesn't exist", p.Key)
	case r.Code == kv.CodeExists:
		return fmt.Sprintf("key %q exists", p.Key)
	case r.Code != kv.CodeCondition:
		return fmt.Sprintf("failed at key %q: %s", p.Key, r.Code)
	case p.Op.OnlyReads():
		return whyUnmet(p, r)
	case p.Op == kv.OpPrune:
		return fmt.Sprintf("failed to delete keys with prefix %q, one was made or changed since index %d", p.Key, p.Index)
	case p.Op == kv.OpDelete:
		return fmt.Sprintf("failed to delete key %q, index is stale", p.Key)
	case p.Op == kv.OpRename:
		return fmt.Sprintf("failed to rename key %q to %q, one of them is locked", p.Key, p.NewKey)
	case p.Lock == kv.LockAcquire:
		return fmt.Sprintf("failed to lock key %q, lock is already held, or its lock-delay runs", p.Key)
	case p.Lock == kv.LockRelease:
		return fmt.Sprintf("failed to unlock key %q, lock isn't held, or is held by another session", p.Key)
	}
	return fmt.Sprintf("failed to set key %q, index is stale", p.Key)
}

// whyUnmet returns a text for a check that does not hold; r tells of the entry.
func whyUnmet(p *kv.Part, r *kv.Result) string {
	var e kv.Entry
	if told, err := kv.DecodeEntries(r.Body); err == nil && len(told) == 1 {
		e = told[0]
	}
	switch p.Op {
	case kv.OpCheckIndex:
		return fmt.Sprintf("failed index check for key %q: its modify index is %d, not %d", p.Key, e.ModifyIndex, p.Index)
	case kv.OpCheckSession:
		return fmt.Sprintf("failed session check for key %q: its session is %q, not %q", p.Key, e.Session, p.Session.ID)
	}
	return fmt.Sprintf("failed value check for key %q: it holds another value", p.Key)
}

// noSession returns a text for p, which needs a session and names none that there is.
func noSession(p *kv.Part) string {
	to := "check the session of"
	switch p.Lock {
	case kv.LockAcquire:
		to = "lock"
	case kv.LockRelease:
		to = "unlock"
	}
	if p.Session.ID == "" {
		return fmt.Sprintf("failed to %s key %q, missing session", to, p.Key)
	}
	return fmt.Sprintf("failed to %s key %q, invalid session %q", to, p.Key, p.Session.ID)
}
