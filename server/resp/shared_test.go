package resp

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/server/admission"
	"tenure/server/service"
	"tenure/server/watch"
)

// dialFrom connects from another address of this machine.
func dialFrom(t testing.TB, s *Server, address string) *session {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	nc, err := d.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return newSession(t, nc)
}

// What one client says of notifications changes nothing for others: it is about its connection.
func TestNobodyElsesNotificationsCanBeChanged(t *testing.T) {
	_, server := startTold(t, Config{}, testHub)
	s, stranger := dial(t, server), dialFrom(t, server, "127.0.0.2")
	s.want("psubscribe *", "[psubscribe * 1]")
	stranger.want(`config set notify-keyspace-events ""`, "OK")
	stranger.want("config get notify-keyspace-events", "[notify-keyspace-events ]")
	stranger.want("set a 1", "OK")
	s.next("[pmessage * __keyspace@0__:a set]")
	s.next("[pmessage * __keyevent@0__:set a]")
	dial(t, server).want("config get notify-keyspace-events", "[notify-keyspace-events AKE]")
	stranger.want("reset", "RESET")
	stranger.want("config get notify-keyspace-events", "[notify-keyspace-events AKE]")
}

// However many names of masters others ask for: a subscriber is told under those of its own client. No flood from
// its own address pushes out the names that its connection has asked for.
func TestNamesOfMastersBelongToTheirClient(t *testing.T) {
	f, hub := newFake(t), watch.New(testHub)
	hub.Begin(f.state.Revision())
	server := start(t, f, Config{Config: service.Config{Hub: hub}, Advertised: "a:1"})
	asks := func(s *session, from int) {
		for i := range 3 * maxMasterNames / 2 {
			s.want(fmt.Sprintf("sentinel get-master-addr-by-name flood%d", from+i), "[a 1]")
		}
	}
	own, listener := dial(t, server), dial(t, server)
	own.want("sentinel get-master-addr-by-name mine", "[a 1]")
	own.want("subscribe +switch-master", "[subscribe +switch-master 1]")
	listener.want("subscribe +switch-master", "[subscribe +switch-master 1]") // as go-redis does: on another connection
	stranger := dialFrom(t, server, "127.0.0.2")
	asks(stranger, 0)
	stranger.send("sentinel masters")
	if got := stranger.reply(); strings.Contains(got, "name mine ") {
		t.Error("the names of others are listed: ", got)
	}
	f.makeMaster(2)
	for _, s := range []*session{own, listener} {
		s.next("[message +switch-master mymaster a 1 b 2]")
		s.next("[message +switch-master mine a 1 b 2]")
	}
	neighbour := dial(t, server)
	for i := range 3 * maxMasterNames / 2 {
		neighbour.want(fmt.Sprint("sentinel get-master-addr-by-name near", i), "[b 2]")
	}
	f.makeMaster(3)
	own.next("[message +switch-master mymaster b 2 c 3]")
	own.next("[message +switch-master mine b 2 c 3]")
}

// What a connection keeps on a node is bounded: the name of its client, and the names of its channels together.
func TestWhatAConnectionKeepsIsBounded(t *testing.T) {
	_, server := startTold(t, Config{}, testHub)
	s := dial(t, server)
	long, short := strings.Repeat("n", maxClientNameBytes+1), strings.Repeat("n", maxClientNameBytes)
	for _, command := range []string{"CLIENT SETNAME " + long, "HELLO 2 SETNAME " + long} {
		s.want(command, "-ERR the name of a client has at most 1024 bytes")
	}
	s.want("CLIENT SETNAME "+short, "OK")
	s.want("CLIENT GETNAME", short)
	s.send("HELLO 3")
	s.reply()
	s.want("CLIENT TRACKING ON BCAST PREFIX "+long, "-ERR a prefix has at most 1024 bytes")
	s.send("HELLO 2")
	s.reply()
	var refusal string
	for i := 0; i < maxSubscriptions && refusal == ""; i++ {
		s.send(fmt.Sprintf("SUBSCRIBE %s%04d", strings.Repeat("c", 1000), i))
		if got := s.reply(); strings.HasPrefix(got, "-") {
			refusal = got
		}
	}
	if want := "-ERR the channels and patterns of a connection have at most 262144 bytes together"; refusal != want {
		t.Errorf("a megabyte of channels: %q, want %q", refusal, want)
	}
}

// Replies that one address does not read leave memory for those to others.
func TestUnreadRepliesOfOneAddressLeaveSpace(t *testing.T) {
	const value = 1 << 19
	hub := watch.New(testHub)
	hub.Begin(0)
	server := start(t, copying{newFake(t)}, Config{Config: service.Config{Hub: hub, Admission: admission.NewControl(admission.Limits{Loopback: true}, zerolog.Nop(), admission.NewMetrics())}, MaxUnreadBytes: 40 << 20, SendTimeout: 5 * time.Second})
	other := dialFrom(t, server, "127.0.0.2")
	fmt.Fprintf(other, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$%d\r\n%s\r\n", value, strings.Repeat("v", value))
	if got := other.reply(); got != "OK" {
		t.Fatal(got)
	}
	for range 20 {
		dial(t, server).send("mget" + strings.Repeat(" k", 24)) // 12 MiB that nobody reads
	}
	for end := time.Now().Add(5 * time.Second); server.shared.unread.Load() < 12<<20; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is unread")
		}
	}
	for range 20 {
		other.send("mget" + strings.Repeat(" k", 16))
		if got := other.reply(); strings.HasPrefix(got, "-") {
			t.Fatalf("beside %d bytes that another address has not read: %s", server.shared.unread.Load(), got)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// What all clients have queued for EXEC is bounded together, and so are the replies that EXEC has ready.
func TestWhatWaitsForExecIsBounded(t *testing.T) {
	const most = 16 << 20
	limited := admission.NewControl(admission.Limits{Loopback: true}, zerolog.Nop(), admission.NewMetrics())
	for name, control := range map[string]*admission.Control{"all": nil, "one source": limited} {
		server := start(t, newFake(t), Config{Config: service.Config{Admission: control}, MaxUnreadBytes: most})
		echo := fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\n%s", 1<<19, strings.Repeat("e", 1<<19))
		var open []*session
		refusal := ""
		for range 2 * most >> 20 {
			s := dial(t, server)
			s.want("MULTI", "OK")
			s.send(echo)
			if got := s.reply(); got != "QUEUED" {
				refusal = got
				s.wantPrefix("-EXECABORT", "EXEC")
				break
			}
			s.send(echo)
			if got := s.reply(); got != "QUEUED" {
				refusal = got
				s.wantPrefix("-EXECABORT", "EXEC")
				break
			}
			open = append(open, s)
		}
		if !strings.HasPrefix(refusal, "-TRYAGAIN not applied: overloaded: too many bytes of queued commands") {
			t.Errorf("%s: after %d: %.100s", name, len(open), refusal)
		}
		open[0].want("DISCARD", "OK")
		_ = open[1].Close()
		open[2].send("RESET")
		open[2].reply()
		s := dial(t, server)
		for end := time.Now().Add(5 * time.Second); server.shared.unread.Load() > int64(len(open)-3)<<20+1<<19; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d bytes wait after three transactions have ended", name, server.shared.unread.Load())
			}
		}
		s.want("MULTI", "OK")
		s.send(echo)
		if got := s.reply(); got != "QUEUED" {
			t.Errorf("%s: %.100s", name, got)
		}
	}

	server := start(t, newFake(t), Config{MaxUnreadBytes: 1 << 20})
	s := dial(t, server)
	s.want("MULTI", "OK")
	for range 1000 {
		s.want("COMMAND", "QUEUED")
	}
	s.wantPrefix("-EXECABORT Transaction discarded because of: TRYAGAIN", "EXEC")
	if left := server.shared.unread.Load(); left != 0 {
		t.Errorf("%d bytes wait", left)
	}
	s.want("PING", "PONG")
}
