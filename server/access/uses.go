package access

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/kv"
)

// uses keeps when each token was last used on this node, since it started: in memory, to within a second. A use is a
// request that was allowed something. Its methods are safe for concurrent use.
type uses struct {
	mu sync.Mutex
	at map[string]*lastUse // by accessor, at most maxUses
}

// lastUse is in Unix nanoseconds; 0: never.
type lastUse struct{ atomic.Int64 }

// maxUses bounds the tokens whose use is kept: all that there can be.
const maxUses = api.MaxTokens

// note records a use. Requests of one token run on many processors, so it writes once a second only.
func (l *lastUse) note(now time.Time) {
	if at := now.UnixNano(); at-l.Load() >= int64(time.Second) {
		l.Store(at)
	}
}

// of returns the last use of the token with that accessor. Where there is no space those of tokens that a does not have
// are forgotten.
func (u *uses) of(accessor string, a *kv.ACL) *lastUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	if l := u.at[accessor]; l != nil {
		return l
	}
	if len(u.at) >= maxUses {
		maps.DeleteFunc(u.at, func(accessor string, _ *lastUse) bool {
			_, there := a.Token(accessor)
			return !there
		})
	}
	if u.at == nil || len(u.at) >= maxUses {
		u.at = make(map[string]*lastUse)
	}
	l := new(lastUse)
	u.at[accessor] = l
	return l
}

// LastUsed returns when the token with that accessor was last used on this node; zero: not since the node started.
func (d *Decider) LastUsed(accessor string) time.Time {
	d.uses.mu.Lock()
	l := d.uses.at[accessor]
	d.uses.mu.Unlock()
	if l == nil || l.Load() == 0 {
		return time.Time{}
	}
	return time.Unix(0, l.Load())
}
