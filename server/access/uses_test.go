package access

import (
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/acl"
)

// A node knows when a token was last used there: not by a refused request, and also after other tokens have changed.
func TestTheLastUseOfATokenIsKept(t *testing.T) {
	w := newWorld(t)
	const accessor, other = "00000000-0000-4000-8000-0000000000aa", "00000000-0000-4000-8000-0000000000cc"
	policy := kv.Policy{ID: "00000000-0000-4000-8000-0000000000bb", Name: "p", Rules: `key "a" { policy = "read" }`}
	w.do(kv.PutPolicy(policy, true))
	w.do(kv.PutToken(kv.Token{Accessor: accessor, Secret: kv.HashSecret("s"), Policies: []string{policy.ID}}, true))
	w.do(kv.PutToken(kv.Token{Accessor: other, Secret: kv.HashSecret("t")}, true))
	at := func(second int64) { w.now.Store(second * int64(time.Second)) }
	for _, c := range []struct {
		second int64
		need   acl.Permission
		want   int64 // seconds; 0: never
	}{{5, acl.KeyWrite("a"), 0}, {6, acl.KeyRead("a"), 6}, {9, acl.KeyRead("a"), 9}, {20, acl.KeyWrite("a"), 9}} {
		at(c.second)
		_ = w.Begin(Credentials{Secret: "s"}).Need(c.need, time.Second)
		var got int64
		if used := w.LastUsed(accessor); !used.IsZero() {
			got = used.Unix()
		}
		if got != c.want {
			t.Errorf("at %d s after %v: last used at %d s, want %d", c.second, c.need, got, c.want)
		}
		w.do(kv.PutToken(kv.Token{Accessor: other, Description: c.need.String()}, false))
	}
	if !w.LastUsed(other).IsZero() {
		t.Error("another token was used")
	}
}

func TestUsesAreBounded(t *testing.T) {
	w := newWorld(t)
	var u uses
	u.at = map[string]*lastUse{}
	for i := range maxUses {
		u.at[string(rune(i+1))+"x"] = new(lastUse)
	}
	if u.of("new", w.ACL()); len(u.at) > maxUses {
		t.Error(len(u.at))
	}
}
