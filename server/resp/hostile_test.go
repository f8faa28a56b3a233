package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/service"
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

// copying is a fake whose values are copies, as those are that a node reads from its disk.
type copying struct{ *fake }

func (c copying) GetMany(timeout time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64,
	error) {
	return c.fake.GetMany(timeout, mode, keys, func(i int, e kv.Entry) bool {
		e.Value = bytes.Clone(e.Value)
		return each(i, e)
	})
}

// Clients that ask for a gigabyte and read nothing cost little memory and hold up no other client. They are
// disconnected when sending has taken too long.
func TestAClientThatNeverReads(t *testing.T) {
	const value, copies = 1 << 19, 1 << 10
	for name, ask := range map[string]string{
		"a pipeline":    strings.Repeat("get k\r\n", 2*copies),
		"commands":      strings.Repeat("mget"+strings.Repeat(" k", 60)+"\r\n", 2*copies/60),
		"transactions":  strings.Repeat("multi\r\n"+strings.Repeat("get k\r\n", 60)+"exec\r\n", 2*copies/60),
		"lists of keys": strings.Repeat("keys *\r\n", 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t, copying{newFake(t)}, Config{SendTimeout: 500 * time.Millisecond})
			other, hostile := dial(t, server), dial(t, server)
			fmt.Fprintf(other, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$%d\r\n%s\r\n", value, strings.Repeat("v", value))
			if got := other.reply(); got != "OK" {
				t.Fatal(got)
			}
			for i := range 64 {
				other.want(fmt.Sprintf("set %04d%s x", i, strings.Repeat("k", 1000)), "OK")
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

// What one command or one transaction reads is bounded, and those behind it are carried out.
func TestAReadThatIsTooLarge(t *testing.T) {
	const value = 1 << 19
	server := start(t, newFake(t), Config{})
	s := dial(t, server)
	fmt.Fprintf(s, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$%d\r\n%s\r\n", value, strings.Repeat("v", value))
	if got := s.reply(); got != "OK" {
		t.Fatal(got)
	}
	s.send("mget" + strings.Repeat(" k", 100) + "\r\nstrlen k\r\nmulti\r\n" + strings.Repeat("get k\r\n", 100) +
		"exec\r\nstrlen k")
	const refusal = "-ERR the reply would be larger than 32 MiB: ask for less at a time"
	want := append([]string{refusal, fmt.Sprint(value), "OK"}, slices.Repeat([]string{"QUEUED"}, 100)...)
	for i, want := range append(want, refusal, fmt.Sprint(value)) {
		if got := s.reply(); got != want {
			t.Fatalf("reply %d is %.100s, not %s", i, got, want)
		}
	}
	s.want("exists"+strings.Repeat(" k", 100), "100") // which keeps no values
}

// A pipeline of reads is carried out in parts, whose replies are those of the whole.
func TestAPipelineOfReadsInParts(t *testing.T) {
	f := newFake(t)
	server := start(t, f, Config{})
	s := dial(t, server)
	var want []string
	for i := range 20 {
		k, value := fmt.Sprint("k", i), strings.Repeat(fmt.Sprint(i%10), 150<<10)
		f.apply(t, kv.Command{Op: kv.OpSet, Key: k, Value: []byte(value)})
		want = append(want, value, "hi", fmt.Sprint(len(value)), "["+value+" nil]")
	}
	var ask []string
	for i := range 20 {
		ask = append(ask, fmt.Sprint("get k", i), "echo hi", fmt.Sprint("strlen k", i), fmt.Sprintf("mget k%d none", i))
	}
	s.send(strings.Join(ask, "\r\n"))
	for i, want := range want {
		if got := s.reply(); got != want {
			t.Fatalf("the reply to %s is %.100s, not %.100s", ask[i], got, want)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.reads); n < 6 || n > 20 {
		t.Errorf("it was carried out in %d parts", n)
	}
}

// What clients of one address have not read yet is bounded together.
func TestRepliesOnTheirWay(t *testing.T) {
	server := limited(t, copying{newFake(t)}, admission.Limits{})
	first := dial(t, server)
	const value = 1 << 19
	fmt.Fprintf(first, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$%d\r\n%s\r\n", value, strings.Repeat("v", value))
	if got := first.reply(); got != "OK" {
		t.Fatal(got)
	}
	const refusal = "-TRYAGAIN not applied: overloaded: too many bytes of answers to this address"
	for got, n := "", 0; !strings.HasPrefix(got, refusal); n++ {
		if n == 50 {
			t.Fatalf("beside %d that do not read, one is answered %.100s", n, got)
		}
		dial(t, server).send("mget" + strings.Repeat(" k", 62)) // this one may be refused itself
		first.send("mget" + strings.Repeat(" k", 62))
		got = first.reply()
	}
	first.want("strlen k", fmt.Sprint(value))
	first.want("set k 1", "OK")
}

// What all clients of a node have not read yet is bounded, whatever they ask with and from wherever, and is given back.
func TestAllThatIsUnread(t *testing.T) {
	const value = 1 << 19
	for name, ask := range map[string]string{
		"commands":     "mget" + strings.Repeat(" k", 60),
		"transactions": "multi\r\n" + strings.Repeat("get k\r\n", 60) + "exec",
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t, copying{newFake(t)}, Config{MaxUnreadBytes: 40 << 20, SendTimeout: time.Second})
			reader := dial(t, server)
			fmt.Fprintf(reader, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$%d\r\n%s\r\n", value, strings.Repeat("v", value))
			if got := reader.reply(); got != "OK" {
				t.Fatal(got)
			}
			before := heap()
			for range 20 {
				dial(t, server).send(ask)
			}
			want := "-TRYAGAIN not applied: overloaded: too many bytes of queued commands and unread replies wait on this node"
			for end := time.Now().Add(20 * time.Second); ; {
				if server.shared.unread.Load() < 20<<20 { // those before were cut off, or have not asked yet
					dial(t, server).send(ask)
					time.Sleep(time.Millisecond)
				} else if reader.send("mget" + strings.Repeat(" k", 60)); strings.HasPrefix(reader.reply(), want) {
					break
				}
				if time.Now().After(end) {
					t.Fatal("a reader is not refused while others have not read")
				}
			}
			if more := heap() - before; more > 100<<20 { // 600 MiB were asked for
				t.Errorf("they cost %d MiB", more>>20)
			}
			reader.want("strlen k", fmt.Sprint(value))
			reader.want("set small 1", "OK")
			reader.want("get small", "1")
			for end := time.Now().Add(20 * time.Second); server.shared.unread.Load() != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) { // those who have not read are cut off by now
					t.Fatalf("%d bytes are counted yet", server.shared.unread.Load())
				}
			}
		})
	}
}

// An announced length costs no memory before the bytes have arrived.
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

// Commands that arrive byte by byte are carried out once they are whole, and hold up no other client.
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
