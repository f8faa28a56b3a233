package resp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/watch"
)

// slowDownFor is how long a refusal waits at least.
const slowDownFor = 100 * time.Millisecond

// limited serves with limits that bound loopback too.
func limited(t *testing.T, b service.Node, l admission.Limits) *Server {
	t.Helper()
	l.Loopback = true
	c, m := Config{Config: service.Config{Hub: watch.New(testHub)}}, admission.NewMetrics()
	c.Hub.Begin(0)
	c.Admission = admission.NewControl(l, zerolog.Nop(), m)
	return start(t, b, c)
}

func TestConnectionsOfOneSource(t *testing.T) {
	server := limited(t, newFake(t), admission.Limits{ConnsPerSource: 2})
	first := dial(t, server)
	first.want("PING", "PONG")
	dial(t, server).want("PING", "PONG")
	if got := dial(t, server).reply(); got != "-ERR max number of clients reached (--max-connections, --max-connections-per-source)" {
		t.Error(got)
	}
	first.want("QUIT", "OK")
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		s := dial(t, server)
		s.send("PING")
		if line, err := s.in.ReadString('\n'); err == nil && line == "+PONG\r\n" {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a place that was given back is not taken")
		}
	}
}

// Each command of a pipeline counts for the rate, and those that come too fast are not carried out.
func TestEachCommandOfAPipelineCounts(t *testing.T) {
	f := newFake(t)
	server := limited(t, f, admission.Limits{Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: 10}})
	s := dial(t, server)
	began := time.Now()
	s.send(strings.TrimSuffix(strings.Repeat("INCR n\r\n", 50), "\r\n"))
	done := 0
	for range 50 {
		switch got := s.reply(); {
		case !strings.HasPrefix(got, "-"):
			done++
		case !strings.HasPrefix(got, "-TRYAGAIN not applied: overloaded: this client sends requests faster than it may"):
			t.Error(got)
		}
	}
	if took := time.Since(began); took < slowDownFor || done < 10 || done > 10+int(took/time.Second)+1 {
		t.Errorf("%d of 50 commands were carried out in %v", done, took)
	}
	s.wantPrefix("-TRYAGAIN", "GET n")
}

// blocked is a fake whose writes wait.
type blocked struct {
	*fake
	arrived, release chan struct{}
}

func (b *blocked) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	b.arrived <- struct{}{}
	<-b.release
	return b.fake.Write(timeout, c, took)
}

// What is in flight is bounded in all, and of one source, and is given back.
func TestRequestsInFlight(t *testing.T) {
	for _, l := range map[string]admission.Limits{
		"in all":     {Requests: 2, Conns: 16, Reserved: 1},
		"one source": {RequestsPerSource: 1},
	} {
		b := &blocked{newFake(t), make(chan struct{}), make(chan struct{})}
		server := limited(t, b, l)
		first, second := dial(t, server), dial(t, server)
		first.send("SET k 1")
		<-b.arrived
		second.wantPrefix("-TRYAGAIN not applied: overloaded: too many requests", "SET k 2")
		second.wantPrefix("-TRYAGAIN", "PING")
		close(b.release)
		if got := first.reply(); got != "OK" {
			t.Error(got)
		}
		go func() {
			for range b.arrived {
			}
		}()
		second.want("GET k", "1")
		second.want("SET k 2", "OK")
		close(b.arrived)
	}
}

// S5: a flood holds neither locks nor leases, and what arrives beside a release is refused all the same.
func TestReleasesGetThrough(t *testing.T) {
	for _, unlock := range []string{
		"EVALSHA c3f8721cbb97f72bc19e972846bd7aaf91901658 1 lock mine", "DELIFEQ lock mine", "delex lock ifeq mine",
	} {
		getsThrough(t, unlock)
	}
}

func getsThrough(t *testing.T, unlock string) {
	t.Helper()
	b := &blocked{newFake(t), make(chan struct{}), make(chan struct{})}
	server := limited(t, b, admission.Limits{RequestsPerSource: 1})
	first, second := dial(t, server), dial(t, server)
	second.want("GET k", "nil")
	first.send("SET k 1")
	<-b.arrived
	second.wantPrefix("-TRYAGAIN", "EVALSHA 1cac51482acf5858da00f6d685d68f886cd6b6b2 1 lock mine 5000")
	second.want("TENURE.LEASE RELEASE l me ACQUISITION a", "OK")
	second.send(unlock + "\r\nSET k 2\r\ntenure.lease Release l me ACQUISITION a\r\nPING")
	select {
	case <-b.arrived:
	case <-time.After(5 * time.Second):
		t.Error("the unlock does not arrive")
	}
	close(b.release)
	for i, want := range []string{"0", "-TRYAGAIN ", "OK", "-TRYAGAIN "} {
		if got := second.reply(); !strings.HasPrefix(got, want) {
			t.Errorf("reply %d: %s, want %s", i, got, want)
		}
	}
	if got := first.reply(); got != "OK" {
		t.Error(got)
	}
}

// So does a client that asks faster than it may.
func TestReleasesOfAFastClient(t *testing.T) {
	server := limited(t, newFake(t), admission.Limits{Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: 3}})
	s := dial(t, server)
	s.want("GET k", "nil")
	s.send(strings.TrimSuffix(strings.Repeat("GET k\r\n", 4)+strings.Repeat("TENURE.LEASE RELEASE l me ACQUISITION a\r\n", 2), "\r\n"))
	for i, want := range []string{"nil", "nil", "-TRYAGAIN ", "-TRYAGAIN ", "OK", "OK"} {
		if got := s.reply(); !strings.HasPrefix(got, want) {
			t.Errorf("reply %d: %s, want %s", i, got, want)
		}
	}
}

func TestWaitsOfOneClient(t *testing.T) {
	server := limited(t, newFake(t), admission.Limits{WaitingPerClient: 1})
	first, second := dial(t, server), dial(t, server)
	first.wantPrefix("[subscribe", "SUBSCRIBE a")
	first.wantPrefix("[subscribe", "SUBSCRIBE b")
	second.wantPrefix("-TRYAGAIN not applied: overloaded: too many queries of this client wait", "SUBSCRIBE a")
	first.want("RESET", "RESET")
	second.wantPrefix("[subscribe", "SUBSCRIBE a")
}

// What a client moves counts for its rate, as over HTTP: a large value costs more than a small one, to write and to
// read.
func TestBytesCountForTheRate(t *testing.T) {
	large := strings.Repeat("x", 256<<10)
	set := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$262144\r\n" + large
	for command, size := range map[string]string{set: "large", "GET large": "large", "GET small": "small"} {
		f := newFake(t)
		f.apply(t, kv.Command{Op: kv.OpSet, Key: "large", Value: []byte(large)})
		f.apply(t, kv.Command{Op: kv.OpSet, Key: "small", Value: []byte("x")})
		rate := admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: 40}
		s := dial(t, limited(t, f, admission.Limits{Rate: rate}))
		done := 0
		for done < 30 {
			s.send(command)
			if got := s.reply(); strings.HasPrefix(got, "-TRYAGAIN") {
				break
			}
			done++
		}
		if (done < 30) != (size == "large") {
			t.Errorf("%.9q: %d of a value that is %s", command, done, size)
		}
	}
}

// The more refusals of one address wait, the later each comes, as over HTTP; a server that stops ends the wait.
func TestRefusalsOfOneAddressComeLater(t *testing.T) {
	rate := admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: 1}
	server := limited(t, newFake(t), admission.Limits{Rate: rate})
	sessions := make([]*session, 400)
	for i := range sessions {
		sessions[i] = dial(t, server)
	}
	began := time.Now()
	for _, s := range sessions {
		s.send("PING")
	}
	for _, s := range sessions {
		s.reply()
	}
	if took := time.Since(began); took < 3*slowDownFor {
		t.Errorf("%d refusals of one address came within %v", len(sessions), took)
	}
	for _, s := range sessions {
		s.send("PING")
	}
	time.Sleep(slowDownFor / 4) // now some wait for seconds
	began = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil || time.Since(began) > time.Second {
		t.Errorf("the server stops after %v: %v", time.Since(began), err)
	}
}

// A wait for a lease that is refused, with another command behind it, leaves nothing in flight for ever.
func TestARefusedWaitForALeaseIsInFlightOnce(t *testing.T) {
	server := limited(t, newFake(t), admission.Limits{Requests: 8, Reserved: 1, WaitingPerClient: 1})
	dial(t, server).wantPrefix("[", "SUBSCRIBE x") // it has the only place among the waits
	for range 10 {
		s := dial(t, server)
		s.send("TENURE.LEASE ACQUIRE a o 1s WAIT 1s\r\nPING")
		for _, want := range []string{"-TRYAGAIN", "PONG"} {
			if got := s.reply(); !strings.HasPrefix(got, want) {
				t.Fatal(got)
			}
		}
		_ = s.Close()
	}
	dial(t, server).want("GET a", "nil")
}

// A fault ends its connection, and leaves nothing in flight.
func TestAFaultLeavesNothingInFlight(t *testing.T) {
	server := limited(t, panicking{newFake(t)}, admission.Limits{Requests: 4, Reserved: 1})
	for range 6 {
		s := dial(t, server)
		s.send("SET k v")
		if got := s.reply(); !strings.HasPrefix(got, "-UNKNOWN") {
			t.Fatal(got)
		}
		_, _ = s.in.ReadByte() // it is closed
	}
	s := dial(t, server)
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		s.send("GET a")
		if got := s.reply(); got == "nil" {
			return
		} else if time.Now().After(end) {
			t.Fatal(got)
		}
	}
}
