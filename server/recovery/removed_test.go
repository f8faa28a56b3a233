package recovery

import (
	"slices"
	"testing"

	"tenure/internal/ident"
	"tenure/server/members"
)

// Who was removed stays out of the new cluster, unless it is its voter.
func TestRemovedNamesAreTakenAlong(t *testing.T) {
	was := members.First(ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Name: "a"}, {Node: 2}}})
	was.Removed = []string{"c", "node-7", "d"}
	for self, want := range map[ident.Member][]string{
		{Node: 1, Name: "a"}: {"c", "node-7", "d"}, {Node: 7}: {"c", "d"},
	} {
		r := recordOfOne(self, &was, 8, 5)
		if back, err := members.Decode(r.Encode()); err != nil || !slices.Equal(back.Removed, want) {
			t.Errorf("%+v: %q, %v", self, back.Removed, err)
		}
	}
}
