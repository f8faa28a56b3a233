package resp

import (
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
)

// twice is a node that has two copies of a write decided, as a node does when the answer to the first one is lost.
// Between them it calls between. The answer is that to the second copy.
type twice struct {
	*guarded
	first   bool // the first copy is applied
	between func()
	err     error // of a third copy
	copies  int
}

func (w *twice) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	if w.copies++; w.copies > 1 {
		if w.err != nil {
			return kv.Result{}, w.err
		}
		return w.guarded.Write(timeout, c, took)
	}
	if w.first {
		if _, err := w.guarded.Write(timeout, c, took); err != nil {
			return kv.Result{}, err
		}
	}
	w.between()
	return w.guarded.Write(timeout, c, took)
}

// What becomes of a second copy is no verdict on a write whose first copy may have been applied, as over HTTP.
func TestTheVerdictOnASecondCopy(t *testing.T) {
	for name, c := range map[string]struct {
		unapplied, revoked, cut bool
		err                     error
		want                    string
		outcome                 string // in the audit log
	}{
		"revoked": {revoked: true, want: "-UNKNOWN outcome", outcome: "unknown"},
		"revoked, by a node that does not know it": {revoked: true, cut: true, want: "-UNKNOWN outcome", outcome: "unknown"},
		"still allowed":            {want: "old", outcome: "done"},
		"still allowed, no space":  {err: service.ErrNoSpace, want: "-UNKNOWN outcome", outcome: "unknown"},
		"still allowed, no master": {err: service.ErrNotApplied, want: "-UNKNOWN outcome", outcome: "unknown"},
		"not applied, revoked":     {unapplied: true, revoked: true, want: "-NOAUTH", outcome: "denied"},
		"not applied, revoked, by a node that does not know it": {unapplied: true, revoked: true, cut: true,
			want: "-CLUSTERDOWN not applied", outcome: "not applied"},
		"not applied, no space": {unapplied: true, err: service.ErrNoSpace, want: "-OOM", outcome: "not applied"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t)
			g.set("k", "old")
			accessor := g.may("writer", `key_prefix "" { policy = "write" }`)
			other := g.may("other", `key_prefix "" { policy = "write" }`)
			if !c.revoked {
				accessor = other
			}
			w := &twice{guarded: g, first: !c.unapplied, err: c.err, between: func() {
				g.lags.Store(true)
				g.cut.Store(c.cut)
				g.apply(t, kv.DropToken(accessor))
			}}
			s := dial(t, start(t, w, g.cfg))
			s.want("AUTH writer", "OK")
			s.send("TENURE.ONCE w 1 GETDEL k")
			got := s.reply()
			if !strings.HasPrefix(got, c.want) || strings.HasPrefix(got, "-UNKNOWN") && strings.Contains(got, "nothing was changed") {
				t.Error(got)
			}
			if there := g.value("k") == "old"; there != c.unapplied {
				t.Error("the key holds", g.value("k"))
			}
			if line := g.lines(1)[0]; !strings.Contains(line, `"outcome":"`+c.outcome+`"`) {
				t.Error(line)
			}
		})
	}
}
