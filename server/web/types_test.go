package web

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// Handwritten answers, and answers made from the Backend's own types, parse as the types of package api without unknown
// members.
func TestAnswersAreThoseOfPackageAPI(t *testing.T) {
	f := newFake(t)
	f.remaining = time.Second
	f.hint = service.LeaseHint{Owner: "a", Token: 1, Left: time.Second}
	f.grant = service.LeaseGrant{Token: 1, Serial: 2, Waited: time.Second}
	f.leaseList = service.LeaseList{Leases: []service.NamedHint{{Name: "l", LeaseHint: f.hint}}, Next: "m", Silent: time.Second}
	f.apply(t, kv.Command{Op: kv.OpSet, Key: "a", Value: []byte("1"), TTL: time.Hour})
	s := newServer(t, f)
	id := create(t, s, "{}")
	call(s, "PUT", api.PathKV+"k?acquire="+id, "v")
	for _, x := range []struct {
		method, target, body string
		into                 any
	}{
		{"GET", api.PathKV + "?recurse", "", &[]api.Entry{}},
		{"GET", api.PathKV + "a", "", &[]api.Entry{}},
		{"POST", api.PathKV + "a", `{"Op":"add","Num":1}`, &api.Sum{}},
		{"POST", api.PathKV + "a", `{"Op":"test-and-set","Test":"Mg==","Value":"Mw=="}`, &api.TestAndSet{}},
		{"POST", api.PathKV + "a", `{"Op":"remove"}`, &api.Entry{}},
		{"PUT", api.PathTxn, `[{"KV":{"Verb":"get-tree","Key":"k"}}]`, &api.TxnAnswer{}},
		{"PUT", api.PathTxn, `[{"KV":{"Verb":"get","Key":"no such key"}}]`, &api.TxnAnswer{}},
		{"PUT", api.PathSessionCreate, "{}", &api.SessionID{}},
		{"PUT", api.PathSessionRenew + id, "", &[]api.Session{}},
		{"GET", api.PathSessionList, "", &[]api.Session{}},
		{"GET", api.PathSessionInfo + id + "?details", "", &[]api.Session{}},
		{"GET", api.PathFence + "kv/a", "", &api.Fence{}},
		{"GET", api.PathQuotas, "", &api.QuotaList{}},
		{"GET", api.PathStatus, "", &api.Status{}},
		{"GET", api.PathMembers, "", &api.MemberList{}},
		{"POST", api.PathMembersRemove, `{"node":2}`, &api.MemberOperation{}},
		{"POST", api.PathMembersRemove, `{"node":2,"dry_run":true}`, &api.MemberPlan{}},
		{"POST", api.PathMembersCancel, `{"operation":"o"}`, &api.MemberOperation{}},
		{"GET", api.PathLease + "l", "", &api.LeaseHint{}},
		{"GET", api.PathLeases, "", &api.LeasePage{}},
		{"POST", api.PathLease + "l" + api.LeaseAcquire, `{"Owner":"a","TTL":"1s"}`, &api.LeaseGrant{}},
		{"POST", api.PathLeasesRenew, `[{"Name":"l","Owner":"a","Grant":"x"}]`, &[]api.LeaseRenewal{}},
	} {
		w := call(s, x.method, x.target, x.body)
		d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(x.into); err != nil {
			t.Errorf("%s %s: %v: %s", x.method, x.target, err, w.Body)
		}
		if b, _ := json.Marshal(x.into); strings.Trim(string(b), "[]") == "{}" {
			t.Errorf("%s %s: nothing was read of %s", x.method, x.target, w.Body)
		}
	}
	f.leaseErr = &service.LeaseBusyError{Owner: "a", RetryAfter: time.Second}
	var busy api.LeaseBusy
	w := call(s, "POST", api.PathLease+"l"+api.LeaseAcquire, `{"Owner":"a","TTL":"1s"}`)
	if json.Unmarshal(w.Body.Bytes(), &busy) != nil || (busy != api.LeaseBusy{Owner: "a", RetryAfter: "1s"}) {
		t.Errorf("busy: %s", w.Body)
	}
}
