package service

import (
	"errors"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/admission"
)

// Where there are tokens, a protocol that forgets to say who asks gets nothing.
func TestAClientThatIsNotIdentifiedMayNothing(t *testing.T) {
	g := newGuard(t)
	for _, tokens := range []bool{true, false} {
		cfg := Config{}
		if tokens {
			cfg.Access = g.decider
		}
		s, err := New(cfg, FrontOf(&waiting{}), admission.NewMetrics())
		if err != nil {
			t.Fatal(err)
		}
		var r Request
		s.Begin(&r, End{})
		write := kv.Command{Op: kv.OpSet, Key: "k"}
		for name, err := range map[string]error{
			"a read": r.NeedKey("k"), "a write": r.MayWrite(&write), "a write here": r.MayWriteHere(&write),
			"its token": r.NeedKnown(),
		} {
			if got := errors.Is(err, ErrNotApplied); got != tokens {
				t.Errorf("tokens %t, %s: %v", tokens, name, err)
			}
		}
		if r.MayKey("k") == tokens || r.KnownOperator("node-1") {
			t.Errorf("tokens %t: it may read", tokens)
		}
		r.Identify(Credentials{}, nil, time.Second)
		if err := r.NeedKnown(); err != nil {
			t.Errorf("tokens %t, the anonymous client: %v", tokens, err)
		}
	}
}
