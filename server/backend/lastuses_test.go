package backend

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// Of each token the newest use counts, whichever member tells of it. A member that is down or does not answer is named.
func TestLastUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, down := connected(t, 4)
		var members ident.Membership
		for id := ballot.NodeID(1); id <= 4; id++ {
			members.Members = append(members.Members, ident.Member{Node: id})
		}
		at := func(s int64) time.Time { return time.Unix(1_790_000_000+s, 0).UTC() }
		used := map[ballot.NodeID]map[string]time.Time{
			1: {"a": at(1), "b": at(5)}, 2: {"a": at(3), "b": at(4)}, 3: {"a": at(9), "c": at(9)},
		}
		all := map[ballot.NodeID]*LastUses{}
		for id, q := range nodes {
			all[id] = NewLastUses(LastUsesConfig{Questions: q, Members: runner.NewMembers(id, members, nil),
				LastUsed: func(accessor string) time.Time {
					if id == 4 {
						time.Sleep(time.Hour)
					}
					return used[id][accessor]
				}})
		}
		down[3] = true
		a, b := at(3), at(5)
		want := api.TokenUses{Uses: []api.TokenUse{{Accessor: "a", LastUsed: &a, Node: 2}, {Accessor: "b", LastUsed: &b, Node: 1},
			{Accessor: "c"}}, Silent: []uint64{3, 4}}
		began := time.Now()
		got, err := all[1].TokenUses([]string{"a", "b", "c"})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if took := time.Since(began); took != usesWait {
			t.Errorf("it took %v", took)
		}
		time.Sleep(4 * time.Hour) // node 4 answers at last
	})
}

// However many members there are and clients ask, a member that answers is not called silent. A client too many is told
// so.
func TestLastUsesOfManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, _ := connected(t, maxMembers)
		var members ident.Membership
		for id := range ballot.NodeID(maxMembers) {
			members.Members = append(members.Members, ident.Member{Node: 1 + id})
		}
		var first *LastUses
		for id, q := range nodes {
			u := NewLastUses(LastUsesConfig{Questions: q, Members: runner.NewMembers(id, members, nil),
				LastUsed: func(string) time.Time {
					if id == 4 {
						time.Sleep(time.Hour)
					}
					return time.Time{}
				}})
			if id == 1 {
				first = u
			}
		}
		for range maxGathered {
			go func() {
				if got, err := first.TokenUses([]string{"a"}); fmt.Sprint(got.Silent) != "[4]" || err != nil {
					t.Errorf("silent: %v, %v", got.Silent, err)
				}
			}()
		}
		synctest.Wait()
		if _, err := first.TokenUses([]string{"a"}); !errors.Is(err, service.ErrOverloaded) {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := first.TokenUses([]string{"a"}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A member is not asked about more tokens than one answer has space for.
func TestLastUsesAreBounded(t *testing.T) {
	u := LastUses{cfg: LastUsesConfig{LastUsed: func(string) time.Time { return time.Time{} }}}
	told, err := u.told(0, wire.Uses{Accessors: make([]string, api.MaxTokenUses+1)})
	if err != nil || len(told.AtMS) != api.MaxTokenUses {
		t.Errorf("%d, %v", len(told.AtMS), err)
	}
	full := wire.Uses{}
	for range api.MaxTokenUses {
		full.Accessors = append(full.Accessors, someAccessor)
	}
	if n := len(wire.EncodeBody(&full)); n > wire.MaxQuestionBytes/2 {
		t.Errorf("a question has %d bytes", n)
	}
}

const someAccessor = "99999999-0000-4000-8000-0000000000bb"
