package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/service"
)

func TestLeaseRequests(t *testing.T) {
	f := newFake(t)
	f.grant = service.LeaseGrant{Token: 1<<32 + 1, Serial: 9}
	s := newServer(t, f)
	for _, c := range []struct{ path, body, want string }{
		{"a/acquire", `{"Owner":"o","TTL":"30s"}`, `{1 a o 30s 0s 10s}`},
		{"a/b/acquire/acquire", `{"owner":"o","ttl":"1.5s","wait":"10m"}`, `{1 a/b/acquire o 1.5s 10m0s 10s}`},
		{"a%2Fb%20c/acquire", `{"Owner":"o","TTL":"100ms"}`, `{1 a/b c o 100ms 0s 10s}`},
		{strings.Repeat("n", 256) + "/acquire", `{"Owner":"o","TTL":"1s"}`, `{1 ` + strings.Repeat("n", 256) + ` o 1s 0s 10s}`},
		{strings.Repeat("n", 257) + "/acquire", `{"Owner":"o","TTL":"1s"}`, `400 invalid`},
		{"/acquire", `{"Owner":"o","TTL":"1s"}`, `400 invalid`},
		{"%ff/acquire", `{"Owner":"o","TTL":"1s"}`, `400 invalid`},
		{"a/acquire", `{"TTL":"1s"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"` + strings.Repeat("o", 129) + `","TTL":"1s"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o","TTL":"99ms"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o","TTL":"31s"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o","TTL":"ten"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o","TTL":"1s","Wait":"11m"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o","TTL":"1s","Wait":"-1s"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o","TTL":"1s","Grant":"g"}`, `400 invalid`},
		{"a/acquire", `[]`, `400 invalid`},
		{"a/acquire?cas=1", `{"Owner":"o","TTL":"1s"}`, `400 invalid`},
		{"a/renew", `{"Owner":"o","Grant":"x"}`, `400 invalid`},
		{"a/release", `{"Owner":"o"}`, `400 invalid`},
		{"a/release", `{"Owner":"o","Acquisition":"mine"}`, `{3 a o 0s 0s 10s}`},
		{"a/acquire", `{"Owner":"o","TTL":"1s","Name":"a"}`, `400 invalid`},
		{"a/acquire", `{"Owner":"o","TTL":"1s","Waite":"5s"}`, `400 invalid`},
		{"a/renew", `{"Owner":"o","Grant":"x","Wait":"1s"}`, `400 invalid`},
		{"a/renew", `{"Owner":"o","Grant":"x","Acquisition":"mine"}`, `400 invalid`},
		{"a/release", `{"Owner":"o","Acquisition":"mine","TTL":"1s"}`, `400 invalid`},
		{"a/release", `{"Owner":"o","Acquisition":"mine","Grant":"x"}`, `400 invalid`},
		{"acquire", `{"Owner":"o","TTL":"1s"}`, `405 invalid`},
		{"a/seize", `{"Owner":"o"}`, `405 invalid`},
	} {
		f.leases = nil
		w := call(s, "POST", "/v1/lease/"+c.path, c.body)
		got := fmt.Sprint(w.Code, " ", code(w))
		if len(f.leases) == 1 {
			r := f.leases[0]
			got = fmt.Sprintf("{%d %s %s %v %v %v}", r.Op, r.Name, r.Owner, r.TTL, r.Wait, r.Timeout)
		}
		if got != c.want {
			t.Errorf("POST %.60s %.80s: %s, want %s", c.path, c.body, got, c.want)
		}
	}
}

// A grant is all that another node needs.
func TestGrantsAreRenewedAndReleased(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.grant = service.LeaseGrant{Token: 5<<32 + 7, Serial: 3, Waited: 1500 * time.Millisecond}
	var first, second api.LeaseGrant
	decode := func(body string, into *api.LeaseGrant) {
		t.Helper()
		if err := json.Unmarshal([]byte(body), into); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	decode(call(s, "POST", "/v1/lease/a/acquire", `{"Owner":"o","TTL":"2s","Acquisition":"mine"}`).Body.String(), &first)
	if first.Token != 5<<32+7 || first.Waited != "1.5s" || first.TTL != "2s" || first.Name != "a" || first.Owner != "o" {
		t.Errorf("%+v", first)
	}
	f.grant = service.LeaseGrant{Token: 5<<32 + 8, Serial: 4}
	decode(call(s, "POST", "/v1/lease/a/renew", `{"Owner":"o","Grant":"`+first.Grant+`"}`).Body.String(), &second)
	if second.Grant == first.Grant || second.Token != 5<<32+8 || second.TTL != "2s" {
		t.Errorf("%+v", second)
	}
	if w := call(s, "POST", "/v1/lease/a/release", `{"Owner":"o","Grant":"`+second.Grant+`"}`); w.Code != 200 || w.Body.String() != "true" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	call(s, "POST", "/v1/lease/a/release", `{"Owner":"o","Acquisition":"mine"}`)
	for i, r := range f.leases {
		if r.Acquisition != f.leases[0].Acquisition || r.Acquisition == [16]byte{} {
			t.Errorf("request %d is of acquisition %x, the first of %x", i, r.Acquisition, f.leases[0].Acquisition)
		}
	}
	if w := call(s, "POST", "/v1/lease/b/renew", `{"Owner":"o","Grant":"`+second.Grant+`"}`); w.Code != 400 {
		t.Errorf("a grant of another lease: %d %s", w.Code, w.Body)
	}
}

// N1: an acquisition belongs to one owner. Two owners that choose the same text for it are two, or both would own the
// lease under one token.
func TestN1AcquisitionsOfTwoOwnersDiffer(t *testing.T) {
	f := newFake(t)
	f.grant = service.LeaseGrant{Token: 1, Serial: 1}
	s := newServer(t, f)
	seen := map[[16]byte]string{}
	for _, body := range []string{
		`{"Owner":"o","TTL":"1s","Acquisition":"job"}`, `{"Owner":"p","TTL":"1s","Acquisition":"job"}`,
		`{"Owner":"o","TTL":"1s","Acquisition":"job2"}`, `{"Owner":"oj","TTL":"1s","Acquisition":"ob"}`,
	} {
		if w := call(s, "POST", "/v1/lease/a/acquire", body); w.Code != 200 {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		a := f.leases[len(f.leases)-1].Acquisition
		if other, taken := seen[a]; taken {
			t.Errorf("%s and %s are one acquisition", body, other)
		}
		seen[a] = body
	}
	// The same request again is the same acquisition: that is what a retry is.
	call(s, "POST", "/v1/lease/a/acquire", `{"Owner":"o","TTL":"1s","Acquisition":"job"}`)
	if seen[f.leases[len(f.leases)-1].Acquisition] == "" {
		t.Error("a retry of the first request is another acquisition")
	}
}

// A grant is of one name and one owner: nobody renews or releases with the grant of somebody else.
func TestGrantsOfOthersAreRefused(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	g := grantOf("a", "o")
	for _, verb := range []string{"renew", "release"} {
		for path, owner := range map[string]string{"a": "p", "b": "o"} {
			if w := call(s, "POST", "/v1/lease/"+path+"/"+verb, `{"Owner":"`+owner+`","Grant":"`+g+`"}`); w.Code != 400 {
				t.Errorf("%s of %s by %s: %d %s", verb, path, owner, w.Code, w.Body)
			}
		}
	}
	if len(f.leases) != 0 {
		t.Errorf("asked for %+v", f.leases)
	}
}

func TestLeaseRefusals(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	grant := grantOf("a", "o")
	for _, c := range []struct {
		err   error
		code  int
		retry string
		says  api.Code
	}{
		{&service.LeaseBusyError{Owner: "them", RetryAfter: 1200*time.Millisecond + 1}, 409, "2", api.CodeBusy},
		{service.ErrLeaseGone, 409, "", api.CodeLost},
		{fmt.Errorf("%w: no quorum", service.ErrNotApplied), 503, "0", api.CodeNotApplied},
		{fmt.Errorf("%w: many", service.ErrOverloaded), 503, "1", api.CodeOverloaded},
		{&service.LeaseSilentError{Begins: 12*time.Second + 1}, 503, "13", api.CodeQuarantine},
		{fmt.Errorf("%w: perhaps", service.ErrUnknown), 504, "", api.CodeUnknown},
	} {
		f.leaseErr = c.err
		w := call(s, "POST", "/v1/lease/a/renew", `{"Owner":"o","Grant":"`+grant+`"}`)
		if w.Code != c.code || head(w, "Retry-After") != c.retry || code(w) != c.says {
			t.Errorf("%v: %d %q %s", c.err, w.Code, head(w, "Retry-After"), w.Body)
		}
	}
}

func TestManyLeasesInOneCall(t *testing.T) {
	f := newFake(t)
	f.grant = service.LeaseGrant{Token: 9, Serial: 3}
	s := newServer(t, f)
	good := grantOf("a", "o")
	w := call(s, "POST", "/v1/leases/renew", `[{"Name":"a","Owner":"o","Grant":"`+good+`"},{"Name":"b","Owner":"o","Grant":"`+good+`"}]`)
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `[{"Name":"a","Owner":"o","Token":9,`) || !strings.Contains(w.Body.String(), `"Code":"invalid","Error":"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.leaseErr = service.ErrLeaseGone
	w = call(s, "POST", "/v1/leases/renew", `[{"Name":"a","Owner":"o","Grant":"`+good+`"}]`)
	if text := w.Body.String(); !strings.Contains(text, `"Code":"lost",`) || !strings.Contains(text, `"Lost":true`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, body := range []string{`[]`, ``, `{}`, `[` + strings.Repeat(`{},`, api.MaxLeaseRenewals) + `{}]`} {
		if w := call(s, "POST", "/v1/leases/renew", body); w.Code != 400 {
			t.Errorf("%.20s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestLeaseHint(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	if w := call(s, "GET", "/v1/lease/a/acquire", ""); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.hint = service.LeaseHint{Owner: "o", Token: 4, Left: 1500 * time.Microsecond}
	if w := call(s, "GET", "/v1/lease/a/acquire", ""); w.Code != 200 || w.Body.String() != `{"Name":"a/acquire","Owner":"o","Token":4,"Remaining":"2ms","Hint":true}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestLeaseList(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	check := func(target, want string) {
		t.Helper()
		if w := call(s, "GET", "/v1/leases"+target, ""); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	f.leaseList.Silent = 1500 * time.Millisecond
	check("", `{"Leases":[],"Silent":"1.5s","Hint":true}`)
	if ofQuery(f.leaseQuery) != ofQuery(service.LeaseQuery{Limit: 1000}) {
		t.Errorf("%+v", f.leaseQuery)
	}
	f.leaseList = service.LeaseList{Next: "b", Leases: []service.NamedHint{{Name: "a", LeaseHint: service.LeaseHint{Owner: "o", Token: 4, Left: time.Second}}}}
	check("?prefix=p/&start=p/%20&limit=10000", `{"Leases":[{"Name":"a","Owner":"o","Token":4,"Remaining":"1s"}],"Next":"b","Hint":true}`)
	if ofQuery(f.leaseQuery) != ofQuery(service.LeaseQuery{Prefix: "p/", Start: "p/ ", Limit: 10000}) {
		t.Errorf("%+v", f.leaseQuery)
	}
	f.leaseErr = fmt.Errorf("%w: slow", service.ErrNotApplied)
	if w := call(s, "GET", "/v1/leases", ""); w.Code != 503 || code(w) != api.CodeNotApplied {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := call(s, "PUT", "/v1/leases", ""); w.Code != 405 || head(w, "Allow") != "GET, HEAD" {
		t.Errorf("%d %q", w.Code, head(w, "Allow"))
	}
}

// ofQuery is what a query asks for, to compare.
func ofQuery(q service.LeaseQuery) string { return fmt.Sprintf("%q %q %d", q.Prefix, q.Start, q.Limit) }

// grantOf is the Grant of a lease that lasts a second.
func grantOf(name, owner string) string {
	r := service.LeaseCommand{Name: name, Owner: owner, TTL: time.Second}
	return r.Answer(&service.LeaseGrant{}).Grant
}
