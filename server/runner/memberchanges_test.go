package runner

import (
	"testing"
	"time"

	"tenure/server/replica"
)

// The log part is told what holds in both lease parts: the older of their stamps, and the longer of their exclusions,
// whichever of them has it.
func TestTheLogIsToldWhatHoldsInBothLeaseParts(t *testing.T) {
	l := newLoneLog(t)
	l.inbox.drain = func() {} // it keeps the turn
	c := &MemberChanges{cfg: MemberChangesConfig{Log: l}}
	master, named := inForce{number: 2, excluding: time.Second}, inForce{number: 3, excluding: time.Minute}
	for _, x := range []struct {
		a, b inForce
		want replica.MembersInForce
	}{
		{master, named, replica.MembersInForce{Number: 2, Excluding: time.Minute, Silent: time.Second}},
		{named, master, replica.MembersInForce{Number: 2, Excluding: time.Minute, Silent: time.Minute}},
	} {
		c.tell(x.a, x.b)
		if e := l.inbox.take(); len(e) != 1 || *e[0].InForce != x.want {
			t.Errorf("%+v and %+v: %+v", x.a, x.b, e)
		}
	}
}
