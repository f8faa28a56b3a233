package runner

import (
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/replica"
)

// The log part is told what holds in both lease parts: the older of their stamps, and the longer of their exclusions,
// whichever of them has it.
func TestTheLogIsToldWhatHoldsInBothLeaseParts(t *testing.T) {
	l := newLoneLog(t)
	l.inbox.drain = func() {} // it keeps the turn
	c := &MemberChanges{cfg: MemberChangesConfig{Log: l}}
	master := replica.PartInForce{Number: 2, Excluding: time.Second}
	named := replica.PartInForce{Number: 3, Excluding: time.Minute}
	for _, x := range []struct {
		a, b replica.PartInForce
		want replica.MembersInForce
	}{
		{master, named, replica.MembersInForce{Number: 2, Excluding: time.Minute, Silent: time.Second}},
		{named, master, replica.MembersInForce{Number: 2, Excluding: time.Minute, Silent: time.Minute}},
	} {
		c.tell(x.a, x.b)
		if e := l.inbox.popAll(); len(e) != 1 || *e[0].InForce != x.want {
			t.Errorf("%+v and %+v: %+v", x.a, x.b, e)
		}
	}
}

// A readmission changes no membership, and is told all the same; what is told already is not told again.
func TestTheRosterIsToldWhenTheRecordIsAnotherOne(t *testing.T) {
	var told []ident.Roster
	l := &Log{cfg: LogConfig{Roster: func(r ident.Roster) { told = append(told, r) }}}
	one := members.First(testMembers(1, 2).Load())
	two := one
	two.Membership.Change, two.NextNode = 1, 4
	three := two
	three.Removed = []string{"c"}
	four := three
	four.Removed = nil
	old := members.Record{}
	for _, r := range []members.Record{one, one, two, two, three, three, four} {
		l.rosterChanged(&old, &r)
		old = r
	}
	if len(told) != 4 || told[0].NextNode != 3 || told[1].Membership.Change != 1 || len(told[2].Removed) != 1 ||
		len(told[3].Removed) != 0 {
		t.Errorf("%+v", told)
	}
}
