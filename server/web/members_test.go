package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tenure/api"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/service"
)

// What a body says reaches the backend, with the client's own time limit.
func TestChangesOfMembersReachTheBackend(t *testing.T) {
	const store = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"
	change := func(what string, op members.Operation) string {
		op.ID = "o"
		return fmt.Sprintf("%s 1s %+v", what, plain(op))
	}
	for _, x := range []struct{ path, body, want string }{
		{api.PathMembersAdd, `{"operation":"o","name":"n4","peer_address":"h:1","client_address":"h:2","store":"` + store + `","non_voter":true}`,
			change("change", members.Operation{Kind: members.Add, NonVoter: true, Member: ident.Member{
				Store: ident.StoreID(bytes.Repeat([]byte{15}, 16)), Name: "n4", PeerAddr: "h:1", ClientAddr: "h:2"}})},
		{api.PathMembersAdd, `{"operation":"o","dry_run":true}`, change("plan", members.Operation{Kind: members.Add})},
		{api.PathMembersRemove, `{"operation":"o","node":3,"force_quorum_loss":1,"differs":true}`,
			change("change", members.Operation{Kind: members.Remove, Node: 3, Alive: 1, Differs: true})},
		{api.PathMembersReplace, `{"operation":"o","node":3,"by":4,"dry_run":true}`,
			change("plan", members.Operation{Kind: members.Replace, Node: 3, Member: ident.Member{Node: 4}})},
		{api.PathMembersPromote, `{"operation":"o","node":4}`,
			change("change", members.Operation{Kind: members.Promote, Node: 4})},
		{api.PathMembersUpdate, `{"operation":"o","node":4,"peer_address":"[::1]:7600"}`,
			change("change", members.Operation{Kind: members.Update, Node: 4, Member: ident.Member{PeerAddr: "[::1]:7600"}})},
		{api.PathMembersReadmit, `{"operation":"o","name":"n3"}`,
			change("change", members.Operation{Kind: members.Readmit, Member: ident.Member{Name: "n3"}})},
		{api.PathMembersCancel, `{"operation":"o"}`, `cancel 1s o`},
		{api.PathMembersDrain, `{"node":2}`, `drain 1s 2 false false`},
		{api.PathMembersDrain, `{"node":2,"force":true}`, `drain 1s 2 false true`},
		{api.PathMembersDrain, `{"node":2,"off":true}`, `drain 1s 2 true false`},
	} {
		f := newFake(t)
		if w := call(newServer(t, f), "POST", x.path, x.body, api.HeaderTimeoutMS+": 1000"); w.Code != 200 {
			t.Errorf("%s %s: %d %s", x.path, x.body, w.Code, w.Body)
		}
		if got := strings.Join(f.changes, "; "); got != x.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", x.path, x.body, got, x.want)
		}
	}
}

// An address of a member stands in lines that say what to type: nothing is taken that a shell would run.
func TestAddressesOfMembersAreNoCommands(t *testing.T) {
	for _, address := range []string{"$(id):1", "`id`:1", "a;id:1", "h'x:1", "[::1%$(id)]:1"} {
		f := newFake(t)
		for _, name := range []string{"peer_address", "client_address"} {
			w := call(newServer(t, f), "POST", api.PathMembersUpdate, fmt.Sprintf(`{"node":4,%q:%q}`, name, address))
			if w.Code != 400 || !strings.Contains(w.Body.String(), "must be the HOST:PORT") || len(f.changes) != 0 {
				t.Errorf("%s %s: %d %s %q", name, address, w.Code, w.Body, f.changes)
			}
		}
	}
}

// Without an id of the client the node draws one, which the answer of unknown outcome tells.
func TestAnOperationWithoutAnIDGetsOne(t *testing.T) {
	f := newFake(t)
	f.memberErr = fmt.Errorf("%w: no answer in time", service.ErrUnknown)
	s := newServer(t, f)
	var ids []string
	for range 2 {
		w := call(s, "POST", api.PathMembersRemove, `{"node":2}`)
		said := regexp.MustCompile(`ask again with the operation (\S{20,})\n`).FindStringSubmatch(w.Body.String())
		if w.Code != 504 || said == nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if asked := f.changes[len(f.changes)-1]; !strings.Contains(asked, "ID:"+said[1]+" ") {
			t.Errorf("told %s, asked %s", said[1], asked)
		}
		ids = append(ids, said[1])
	}
	if ids[0] == ids[1] {
		t.Errorf("both are %s", ids[0])
	}
}

var threeMembers = api.MemberList{Cluster: "c", Node: 1, Master: 2, Number: 4, Change: 7, Settled: 4, Members: []api.Member{
	{Node: 1, Name: "a", Voter: true, PeerAddress: "10.0.0.1:7600", Connected: true, Applied: 90, Lag: 10},
	{Node: 2, Name: "b", Voter: true, PeerAddress: "10.0.0.2:7600", Connected: true, Applied: 100, LastHeardMS: 12},
	{Node: 5, Name: "e", Voter: true, PeerAddress: "10.0.0.5:7600", Connected: true, Applied: 100, LastHeardMS: 20},
	{Node: 6, Name: "f", PeerAddress: "10.0.0.6:7600", LastHeardMS: -1},
}}

func TestListsOfMembersAreNeverNull(t *testing.T) {
	w := call(newServer(t, newFake(t)), "GET", api.PathMembers, "")
	if text := w.Body.String(); !strings.Contains(text, `"members":[]`) || !strings.Contains(text, `"operations":[]`) ||
		!strings.Contains(text, `"removed":[]`) {
		t.Error(text)
	}
}

// Consul's tools see the members as its servers.
func TestMembersAsConsulShowsThem(t *testing.T) {
	f := newFake(t)
	f.members = threeMembers
	s := newServer(t, f)
	for path, want := range map[string]string{
		api.PathRaft: `{"Servers":[` +
			`{"ID":"1","Node":"a","Address":"10.0.0.1:7600","ProtocolVersion":"3","Leader":false,"Voter":true,"LastIndex":90},` +
			`{"ID":"2","Node":"b","Address":"10.0.0.2:7600","ProtocolVersion":"3","Leader":true,"Voter":true,"LastIndex":100},` +
			`{"ID":"5","Node":"e","Address":"10.0.0.5:7600","ProtocolVersion":"3","Leader":false,"Voter":true,"LastIndex":100},` +
			`{"ID":"6","Node":"f","Address":"10.0.0.6:7600","ProtocolVersion":"3","Leader":false,"Voter":false,"LastIndex":0}],"Index":7}`,
		api.PathCatalogNodes: `{"ID":"","Node":"a","Address":"10.0.0.1","Datacenter":"dc1"`,
	} {
		if w := call(s, "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestHealthAsConsulShowsIt(t *testing.T) {
	for _, x := range []struct {
		what      string
		change    func(*api.MemberList)
		status    int
		tolerance int
		healthy   []bool
	}{
		{"all is well", func(l *api.MemberList) { l.Members[3].Connected = true }, 200, 1, []bool{true, true, true, true}},
		{"a non-voter is down", func(*api.MemberList) {}, 429, 1, []bool{true, true, true, false}},
		{"a voter is down", func(l *api.MemberList) { l.Members[2].Connected = false }, 429, 0, []bool{true, true, false, false}},
		{"a voter lags", func(l *api.MemberList) { l.Members[0].Lag = 251 }, 429, 0, []bool{false, true, true, false}},
		{"no master", func(l *api.MemberList) { l.Master = 0; l.Members[3].Connected = true }, 429, 1, []bool{true, true, true, true}},
	} {
		f := newFake(t)
		f.members = threeMembers
		f.members.Members = append([]api.Member(nil), threeMembers.Members...)
		x.change(&f.members)
		w := call(newServer(t, f), "GET", api.PathAutopilot, "")
		var got healthReply
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != x.status ||
			got.FailureTolerance != x.tolerance || got.Healthy != (x.status == 200) {
			t.Errorf("%s: %d %v %s", x.what, w.Code, err, w.Body)
		}
		for i, s := range got.Servers {
			if s.Healthy != x.healthy[i] {
				t.Errorf("%s: member %s healthy: %v", x.what, s.ID, s.Healthy)
			}
		}
	}
	f := newFake(t)
	f.memberErr = errors.New("oops")
	if w := call(newServer(t, f), "GET", api.PathAutopilot, ""); w.Code != 500 {
		t.Error(w.Code)
	}
}
