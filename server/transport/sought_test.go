package transport

import (
	"testing"
	"time"

	"tenure/server/wire"
)

// That a member of another cluster was here counts for a while.
func TestSought(t *testing.T) {
	var tr Transport
	for _, r := range []*Refusal{{Reason: wire.ReasonStore, Text: "x"}, {Reason: wire.ReasonCluster, Text: "x", ByPeer: true}} {
		if tr.sought.note(r); tr.Sought() != "" {
			t.Errorf("%+v counts", r)
		}
	}
	if tr.sought.note(&Refusal{Reason: wire.ReasonCluster, Text: "it was here"}); tr.Sought() != "it was here" {
		t.Error("it does not count")
	}
	tr.sought.last.Load().at = time.Now().Add(-soughtFor)
	if tr.Sought() != "" {
		t.Error("it counts for ever")
	}
}

func TestSeekTime(t *testing.T) {
	for name, d := range map[string]time.Duration{"DialBack": Config{}.withDefaults().DialBack, "retryMax": retryMax,
		"retryRefused": retryRefused} {
		if longest := d * 3 / 2; longest >= SeekTime {
			t.Errorf("%s: %v of at most %v", name, longest, SeekTime)
		}
	}
}
