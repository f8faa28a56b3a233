package resp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// closes waits for the server to close the connection, and returns what it has sent.
func (s *session) closes(within time.Duration) string {
	s.t.Helper()
	if err := s.SetReadDeadline(time.Now().Add(within)); err != nil {
		s.t.Fatal(err)
	}
	sent, err := io.ReadAll(s.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatalf("the connection is open after %v", within)
	}
	return string(sent)
}

// heap returns what is allocated now.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A client that asks for a gigabyte, in a pipeline or in one command, and reads nothing costs little memory, nobody else is
// held up, and it is cut off when sending has taken too long.
func TestAClientThatNeverReads(t *testing.T) {
	const value, copies = 1 << 19, 1 << 10
	for name, ask := range map[string]string{
		"a pipeline":    strings.Repeat("get k\r\n", 2*copies),
		"one command":   "mget" + strings.Repeat(" k", 2*copies) + "\r\n",
		"a transaction": "multi\r\n" + strings.Repeat("get k\r\n", 2*copies) + "exec\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t, newFake(t), Config{SendTimeout: 500 * time.Millisecond})
			other, hostile := dial(t, server), dial(t, server)
			fmt.Fprintf(other, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$%d\r\n%s\r\n", value, strings.Repeat("v", value))
			if got := other.reply(); got != "OK" {
				t.Fatal(got)
			}
			before, began := heap(), time.Now()
			if _, err := hostile.Write([]byte(ask)); err != nil {
				t.Fatal(err)
			}
			var most int64
			for server.shared.open.Load() == 2 {
				other.want("set other x", "OK")
				if most = max(most, heap()-before); time.Since(began) > 30*time.Second {
					t.Fatal("it is not cut off")
				}
			}
			if most > 64<<20 { // what is dropped once it is cut off is not collected yet
				t.Errorf("it costs %d MiB", most>>20)
			}
			other.want("strlen k", fmt.Sprint(value))
		})
	}
}

// What is announced costs nothing before it is there.
func TestWhatIsAnnouncedCostsNothing(t *testing.T) {
	server := start(t, newFake(t), Config{})
	before := heap()
	for _, packet := range []string{
		"*200000000\r\n",
		"*1000000\r\n$4\r\nmget\r\n",
		"*2\r\n$3\r\nget\r\n$524288\r\n",
		"*1\r\n$9223372036854775806\r\nx", // the packet that ends a server of tidwall/redcon
		"*1\r\n$-1\r\n",
		"*-9223372036854775808\r\n",
		"*1\r\n$18446744073709551616\r\n",
	} {
		hostile := dial(t, server)
		if _, err := hostile.Write([]byte(packet)); err != nil {
			t.Fatal(err)
		}
		other := dial(t, server)
		other.want("ping", "PONG")
	}
	if more := heap() - before; more > 4<<20 {
		t.Errorf("they cost %d KiB", more>>10)
	}
}

// Commands of which a byte comes now and then are carried out once they are whole, and hold up nobody.
func TestCommandsThatDribble(t *testing.T) {
	server := start(t, newFake(t), Config{})
	slow, other := dial(t, server), dial(t, server)
	for i, b := range []byte("*3\r\n$3\r\nset\r\n$1\r\nk\r\n$2\r\nab\r\nget k\r\n") {
		if _, err := slow.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
		if want := "nil"; i < 20 { // before the value has come
			other.want("get k", want)
		}
	}
	if a, b := slow.reply(), slow.reply(); a != "OK" || b != "ab" {
		t.Errorf("replies %s, %s", a, b)
	}
	half := dial(t, server)
	if _, err := half.Write([]byte("*3\r\n$3\r\nset\r\n$1\r\nk\r\n$2\r\nx")); err != nil {
		t.Fatal(err)
	}
	if err := half.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := half.closes(5 * time.Second); got != "" {
		t.Errorf("half a command is answered %q", got)
	}
	other.want("get k", "ab")
}

// A pipeline that ends with QUIT has all of its replies, also those that are sent in parts.
func TestQuitBehindLargeReplies(t *testing.T) {
	server := start(t, newFake(t), Config{})
	s := dial(t, server)
	value := strings.Repeat("v", 1<<19)
	fmt.Fprintf(s, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$%d\r\n%s\r\nget k\r\nget k\r\nget k\r\nquit\r\n", len(value), value)
	for i, want := range []string{"OK", value, value, value, "OK"} {
		if got := s.reply(); got != want {
			t.Fatalf("reply %d has %d bytes, not %d", i, len(got), len(want))
		}
	}
}
