package backend

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/runner"
	"tenure/server/wire"
)

// Each member says what its status does. A member that is down or does not answer is named with the reason. For a
// moment nobody is asked again.
func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, down := connected(t, 4)
		var members ident.Membership
		var asked [5]atomic.Int64 // by node
		for id := range ballot.NodeID(5) {
			if id != 0 {
				members.Members = append(members.Members, ident.Member{Node: id})
			}
		}
		at := time.UnixMilli(1_790_000_000_123).UTC()
		all := map[ballot.NodeID]*SelfReports{}
		for id, q := range nodes {
			all[id] = NewSelfReports(SelfReportsConfig{Self: id, Questions: q,
				Members: runner.NewMembers(id, members, nil), Status: func() api.Status {
					asked[id].Add(1)
					if id == 4 {
						time.Sleep(time.Hour)
					}
					return api.Status{Node: uint64(id), Version: fmt.Sprint("v", id), Disk: api.DiskStatus{FreeBytes: int64(id)},
						Draining: id == 2, Lease: api.LeaseStatus{Changes: []api.TenureChange{{Time: at, Event: api.TenureWon,
							Cause: "crashed", Detail: "won", Before: 3, OwnerlessMS: 5}}}}
				}})
		}
		down[3] = true
		for range 2 {
			got := all[1].Reports().Reports
			changes := []api.TenureChange{{Time: at, Event: api.TenureWon, Cause: "crashed", Detail: "won", Before: 3,
				OwnerlessMS: 5}}
			want := []api.Report{
				{Node: 1, Version: "v1", Disk: &api.DiskStatus{FreeBytes: 1}, Changes: changes},
				{Node: 2, Version: "v2", Draining: true, Disk: &api.DiskStatus{FreeBytes: 2}, Changes: changes},
				{Node: 3, Problem: "node 3 is not connected to this node; try again", Changes: []api.TenureChange{}},
				{Node: 4, Problem: "it did not answer in time", Changes: []api.TenureChange{}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		if one, two := asked[1].Load(), asked[2].Load(); one != 1 || two != 1 {
			t.Errorf("nodes 1 and 2 were asked %d and %d times for two answers", one, two)
		}
		time.Sleep(2 * reportFresh)
		all[1].Reports()
		if n := asked[2].Load(); n != 2 {
			t.Errorf("node 2 was asked %d times", n)
		}
		time.Sleep(2 * time.Hour) // node 4 answers at last
	})
}

// The largest cluster has a report of every member.
func TestReportsOfTheLargestCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, _ := connected(t, maxMembers)
		var members ident.Membership
		for id := range ballot.NodeID(maxMembers) {
			members.Members = append(members.Members, ident.Member{Node: 1 + id})
		}
		var first *SelfReports
		for id, q := range nodes {
			r := NewSelfReports(SelfReportsConfig{Self: id, Questions: q, Members: runner.NewMembers(id, members, nil),
				Status: func() api.Status {
					time.Sleep(time.Millisecond)
					return api.Status{Version: "v1"}
				}})
			if id == 1 {
				first = r
			}
		}
		for _, r := range first.Reports().Reports {
			if r.Problem != "" {
				t.Errorf("node %d: %s", r.Node, r.Problem)
			}
		}
	})
}

// What another member says takes bounded memory.
func TestReportsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	told := wire.Report{Version: long}
	for range 1000 {
		told.Tenures = append(told.Tenures, wire.Tenure{Event: long, Cause: long, Detail: long})
	}
	got := shownReport(2, &told, nil)
	if len(got.Version) != maxReportText || len(got.Changes) != maxReportTenures ||
		len(got.Changes[0].Detail)+len(got.Changes[0].Cause)+len(got.Changes[0].Event) != 3*maxReportText {
		t.Errorf("%d bytes of version, %d changes", len(got.Version), len(got.Changes))
	}
}
