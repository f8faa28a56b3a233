package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
)

type leaseReply struct {
	Token  uint64
	Grant  string
	Owner  string
	Waited string
}

// lease posts to a lease's path and decodes what is granted.
func (h *host) lease(t *testing.T, path, body string) (int, leaseReply) {
	t.Helper()
	code, text, _ := h.call(http.MethodPost, "/v1/lease/"+path, body)
	var r leaseReply
	if code == 200 && text != "true" {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return code, r
}

func (h *host) awaitEra(t *testing.T) uint32 {
	t.Helper()
	h.until(t, "given an era", func() bool { return h.status(t).Leases.Era != 0 })
	return h.status(t).Leases.Era
}

// mark writes a key and is the slot that this took.
func (h *host) mark(t *testing.T) uint64 {
	t.Helper()
	before := h.status(t).Revision
	if code, text, _ := h.call(http.MethodPut, "/v1/kv/mark", ""); code != 200 {
		t.Fatal(code, text)
	}
	h.until(t, "shown", func() bool { return h.status(t).Revision > before })
	return h.status(t).Chosen
}

// A lease goes from node to node, costs the log nothing, and its token fences writes.
func TestNamedLeases(t *testing.T) {
	hosts := startCluster(t, 3)
	for _, h := range hosts {
		h.awaitEra(t)
		h.until(t, "at the newest feature level", func() bool { return h.status(t).FeatureLevel == kv.NewestLevel })
	}
	chosen := hosts[0].mark(t)
	code, a := hosts[0].lease(t, "jobs/1/acquire", `{"Owner":"a","TTL":"1900ms"}`)
	if code != 200 || a.Token == 0 {
		t.Fatalf("%d %+v", code, a)
	}
	if code, _ := hosts[1].lease(t, "jobs/1/acquire", `{"Owner":"b","TTL":"1s"}`); code != 409 {
		t.Fatalf("a second owner: %d", code)
	}
	code, again := hosts[2].lease(t, "jobs/1/renew", `{"Owner":"a","Grant":"`+a.Grant+`"}`)
	if code != 200 || again.Token < a.Token || again.Grant == a.Grant {
		t.Fatalf("renewed: %d %+v", code, again)
	}
	waited := make(chan leaseReply, 1)
	go func() {
		_, r := hosts[1].lease(t, "jobs/1/acquire", `{"Owner":"b","TTL":"1s","Wait":"10s"}`)
		waited <- r
	}()
	hosts[1].until(t, "waiting", func() bool { return hosts[1].status(t).Leases.Waiting == 1 })
	if code, _ := hosts[0].lease(t, "jobs/1/release", `{"Owner":"a","Grant":"`+again.Grant+`"}`); code != 200 {
		t.Fatalf("released: %d", code)
	}
	b := <-waited
	if b.Token <= again.Token {
		t.Fatalf("the next owner's token is %d after %d", b.Token, again.Token)
	}
	if now := hosts[0].mark(t); now != chosen+1 {
		t.Errorf("leases took %d slots of the log", now-chosen-1)
	}
	put := func(token uint64) int {
		code, _, _ := hosts[1].call(http.MethodPut, fmt.Sprintf("/v1/kv/guarded?fence=lease/jobs/1:%d", token), "v")
		return code
	}
	if got := []int{put(a.Token), put(b.Token), put(a.Token)}; got[0] != 200 || got[1] != 200 || got[2] != 409 {
		t.Errorf("fenced writes: %v", got)
	}
}

// N3, N4 and A4: after a restart a node is silent for as long as a lease that it granted may last. Its tokens are of a
// later era than all earlier ones.
func TestErasAfterARestart(t *testing.T) {
	t.Parallel()
	hosts := startCluster(t, 1)
	h := hosts[0]
	h.stop(t)
	h.cfg.MaxLeaseTime = time.Minute
	h.start(t)
	h.awaitReady(t)
	first := h.awaitEra(t)
	h.until(t, "past its silence", func() bool { return h.status(t).Leases.QuarantineMS == 0 })
	_, a := h.lease(t, "x/acquire", `{"Owner":"a","TTL":"4s"}`) // so that this silence is longer than that of the master's lease
	h.stop(t)
	h.start(t)
	h.awaitReady(t)
	if left := h.status(t).Leases.QuarantineMS; left == 0 || left > 5000 {
		t.Errorf("after a restart: silent for another %d ms", left)
	}
	code, text, head := h.call(http.MethodPost, "/v1/lease/x/acquire", `{"Owner":"b","TTL":"100ms"}`)
	if code != 503 || codeOf(head) != api.CodeQuarantine || head.Get(api.HeaderRetryAfterMS) == "" {
		t.Errorf("during the silence: %d %s", code, text)
	}
	if second := h.awaitEra(t); second <= first {
		t.Errorf("era %d after %d", second, first)
	}
	h.until(t, "past its silence", func() bool { return h.status(t).Leases.QuarantineMS == 0 })
	_, b := h.lease(t, "x/acquire", `{"Owner":"b","TTL":"1s"}`)
	if b.Token>>32 <= a.Token>>32 {
		t.Errorf("token %x after %x", b.Token, a.Token)
	}
}

// Waiting requests of a node that stops get an answer.
func TestStopAnswersWaitingLeases(t *testing.T) {
	hosts := startCluster(t, 1)
	h := hosts[0]
	h.awaitEra(t)
	if code, _ := h.lease(t, "x/acquire", `{"Owner":"a","TTL":"2s"}`); code != 200 {
		t.Fatal(code)
	}
	answered := make(chan int, 1)
	go func() {
		code, _, _ := h.call(http.MethodPost, "/v1/lease/x/acquire", `{"Owner":"b","TTL":"1s","Wait":"1m"}`)
		answered <- code
	}()
	h.until(t, "waiting", func() bool { return h.status(t).Leases.Waiting == 1 })
	h.stop(t)
	select {
	case code := <-answered:
		if code != 503 {
			t.Errorf("answered %d", code)
		}
	case <-time.After(10 * time.Second):
		t.Error("no answer")
	}
}

// Nodes that have recorded a lease list it by its name. The pages together have each lease once, and a released one
// disappears.
func TestLeaseList(t *testing.T) {
	hosts := startCluster(t, 3)
	h := hosts[0]
	const n = 30
	for i := range n {
		path := fmt.Sprintf("/v1/lease/list/%02d/acquire", i)
		h.until(t, "granting leases", func() bool {
			code, _, _ := h.call(http.MethodPost, path, `{"Owner":"o","TTL":"2s","Acquisition":"a`+strconv.Itoa(i)+`"}`)
			return code == 200
		})
	}
	type page struct {
		Leases []struct{ Name, Owner, Remaining string }
		Next   string
		Hint   bool
	}
	read := func(h *host, query string) (p page) {
		code, text, _ := h.call(http.MethodGet, "/v1/leases?"+query, "")
		if code != 200 || json.Unmarshal([]byte(text), &p) != nil || !p.Hint {
			t.Fatalf("%d %s", code, text)
		}
		return p
	}
	seen := map[string]int{}
	for _, h := range hosts {
		p := page{Next: "list/"}
		for last := ""; p.Next != ""; {
			p = read(h, "prefix=list/&limit=7&start="+p.Next)
			for _, l := range p.Leases {
				if l.Owner != "o" || l.Name <= last {
					t.Errorf("%+v after %s", l, last)
				}
				seen[l.Name]++
				last = l.Name
			}
		}
	}
	for i := range n {
		if c := seen[fmt.Sprintf("list/%02d", i)]; c < 2 || c > 3 {
			t.Errorf("lease %d is known to %d nodes", i, c)
		}
	}
	if p := read(h, "prefix=none/"); len(p.Leases) != 0 || p.Next != "" {
		t.Errorf("%+v", p)
	}
	h.call(http.MethodPost, "/v1/lease/list/03/release", `{"Owner":"o","Acquisition":"a3"}`)
	for _, h := range hosts {
		h.until(t, "without the released lease", func() bool { return !strings.Contains(fmt.Sprint(read(h, "prefix=list/")), "list/03") })
	}
}
