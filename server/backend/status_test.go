package backend

import (
	"testing"

	"tenure/api"
	"tenure/internal/ident"
	"tenure/server/members"
)

// A change of the voters that was just put in force has not settled.
func TestStatusTellsWhichMembershipHasSettled(t *testing.T) {
	newest := ident.Membership{Number: 4, Change: 9}
	got := membershipStatus(newest, members.Record{Membership: newest, Settled: 3})
	if want := (api.MembershipStatus{Number: 4, Change: 9, Settled: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
