package resp

import (
	"context"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/watch"
)

func TestLeases(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	s.send("tenure.lease acquire job me 10s wait 2s acquisition mine")
	words := strings.Fields(strings.Trim(s.reply(), "[]"))
	if len(words) < 10 || strings.Join(words[:6], " ") != "name job owner me token 7" || words[8] != "ttl" {
		t.Fatalf("%q", words)
	}
	grant := words[7]
	s.send("tenure.lease renew job me " + grant + " ttl 5s")
	if got := s.reply(); !strings.Contains(got, " ttl 5s ") {
		t.Error(got)
	}
	s.want("tenure.lease release job me "+grant, "OK")
	s.want("tenure.lease release job me acquisition mine", "OK")
	var got []service.LeaseCommand
	for _, r := range f.leases {
		if r.Acquisition != f.leases[0].Acquisition || r.Name != "job" || r.Owner != "me" || r.Timeout != 10*time.Second {
			t.Errorf("%+v", r)
		}
		got = append(got, service.LeaseCommand{Op: r.Op, TTL: r.TTL, Wait: r.Wait})
	}
	if len(got) != 4 || got[0] != (service.LeaseCommand{Op: service.LeaseAcquire, TTL: 10 * time.Second, Wait: 2 * time.Second}) ||
		got[1] != (service.LeaseCommand{Op: service.LeaseRenew, TTL: 5 * time.Second}) || got[3].Op != service.LeaseRelease {
		t.Errorf("%+v", got)
	}
	s.want("tenure.lease get held", "[name held owner me token 7 remaining 1s]")
	s.want("tenure.lease get free", "nil")
}

func TestLeasesThatAreNotGranted(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	for _, bad := range []string{"acquire job me", "acquire job me 31s", "acquire job me ten", "acquire job me 1s wait",
		"acquire job me 1s ttl 2s", "renew job me none", "renew job", "release job me", "release job me a b", "get",
		"get job me", "seize job", "acquire " + strings.Repeat("n", 300) + " me 1s"} {
		s.send("tenure.lease " + bad)
		if got := s.reply(); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("%s: %s", bad, got)
		}
	}
	if len(f.leases) != 0 {
		t.Errorf("asked for: %+v", f.leases)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&service.LeaseBusyError{Owner: "other", RetryAfter: time.Second}, "-LEASEBUSY busy: \"other\" owns the lease"},
		{service.ErrLeaseGone, "-LEASEGONE gone: "}, {service.ErrUnknown, "-UNKNOWN outcome"}, {service.ErrNotApplied, "-CLUSTERDOWN "},
	} {
		f.mu.Lock()
		f.leaseErr = c.err
		f.mu.Unlock()
		s.send("tenure.lease acquire job me 1s")
		if got := s.reply(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s", c.err, got)
		}
	}
}

// waitingLeases is a fake whose leases are busy until release is closed.
type waitingLeases struct {
	*fake
	arrived, release chan struct{}
}

func (w *waitingLeases) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	if r.Wait > 0 {
		w.arrived <- struct{}{}
		<-w.release
	}
	return w.fake.Lease(ctx, r)
}

// Who waits for a lease has a place among the waits of its client, and is no request in flight meanwhile, as over HTTP.
func TestWaitsForLeasesCountAsWaits(t *testing.T) {
	w := &waitingLeases{newFake(t), make(chan struct{}, 1), make(chan struct{})}
	server := limited(t, w, admission.Limits{WaitingPerClient: 1, RequestsPerSource: 1})
	first, second := dial(t, server), dial(t, server)
	first.send("TENURE.LEASE ACQUIRE l me 5s WAIT 1m")
	<-w.arrived
	second.want("GET k", "nil")
	second.wantPrefix("-TRYAGAIN not applied: overloaded: too many queries of this client wait",
		"TENURE.LEASE ACQUIRE l you 5s WAIT 1m")
	second.wantPrefix("[name l", "TENURE.LEASE ACQUIRE l you 5s")
	close(w.release)
	if got := first.reply(); !strings.HasPrefix(got, "[name l") {
		t.Error(got)
	}
	second.wantPrefix("[name l", "TENURE.LEASE ACQUIRE l you 5s WAIT 1m")
}

// Neither the replies before a wait for a lease nor the changes of keys wait with it.
func TestAWaitForALeaseHoldsUpNothingElse(t *testing.T) {
	f, c := newFake(t), Config{}
	c.Hub = watch.New(testHub)
	c.Hub.Begin(f.state.Revision())
	f.state.Observe(kv.Observer{Changed: c.Hub.Changed})
	w := &waitingLeases{f, make(chan struct{}, 1), make(chan struct{})}
	server := start(t, w, c)
	s, other := dial(t, server), dial(t, server)
	s.send("HELLO 3")
	s.reply()
	s.want("CLIENT TRACKING ON", "OK")
	s.send("GET a\r\nTENURE.LEASE ACQUIRE l me 5s WAIT 1m\r\nGET a")
	<-w.arrived
	s.next("nil")
	other.want("SET a 1", "OK")
	s.next("[invalidate [a]]")
	close(w.release)
	if got := s.reply(); !strings.HasPrefix(got, "[name l") {
		t.Error(got)
	}
	s.next("1")
}

// waitingAndBlocked is a fake whose leases are busy, and whose writes wait.
type waitingAndBlocked struct {
	*waitingLeases
	writes *blocked
}

func (w *waitingAndBlocked) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	return w.writes.Write(timeout, c, took)
}

// What stands behind a wait for a lease in a pipeline is a request in flight again.
func TestWhatStandsBehindAWaitForALeaseIsInFlight(t *testing.T) {
	f := newFake(t)
	waits := &waitingLeases{f, make(chan struct{}, 1), make(chan struct{})}
	writes := &blocked{f, make(chan struct{}, 1), make(chan struct{})}
	server := limited(t, &waitingAndBlocked{waits, writes}, admission.Limits{RequestsPerSource: 1})
	first, second := dial(t, server), dial(t, server)
	first.send("TENURE.LEASE ACQUIRE l me 5s WAIT 1m\r\nSET k 1")
	<-waits.arrived
	second.want("GET k", "nil")
	close(waits.release)
	<-writes.arrived
	second.wantPrefix("-TRYAGAIN not applied: overloaded: too many requests", "GET k")
	close(writes.release)
	for _, want := range []string{"[name l", "OK"} {
		if got := first.reply(); !strings.HasPrefix(got, want) {
			t.Error(got)
		}
	}
	second.want("GET k", "1")
}
