package proto

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

var testLimits = Limits{Args: 1 << 20, Bulk: 1 << 20, Command: 4 << 20}

// commands reads everything from src: a line for each command, and one for what ended it.
func commands(src io.Reader, l Limits, known bool) string {
	r := NewReader(src, l)
	r.Stranger = func() bool { return !known }
	var out []string
	for {
		args, err := r.Next()
		if large := (*TooLarge)(nil); errors.As(err, &large) {
			out = append(out, fmt.Sprintf("%s: %v", large.Name, large))
			continue
		}
		if err != nil {
			var e *Error
			switch {
			case errors.As(err, &e) && e.Speaks != "":
				out = append(out, string(e.Speaks))
			case errors.As(err, &e) && e.Silent:
				out = append(out, "silence")
			case err != io.EOF:
				out = append(out, err.Error())
			}
			return strings.Join(out, "|")
		}
		out = append(out, fmt.Sprintf("%q", args))
	}
}

// Expectations are what Redis 7.0.15 does with the same bytes.
func TestReaderTakesWhatRedisTakes(t *testing.T) {
	long := strings.Repeat("x", maxLineBytes+10)
	for _, c := range []struct{ in, want string }{
		{"*1\r\n$4\r\nPING\r\n", `["PING"]`},
		{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n*1\r\n$1\r\nx\r\n", `["GET" ""]|["x"]`},
		{"*0\r\n*-1\r\n*-10\r\n\r\n\n*1\r\n$1\r\nx\r\n", `["x"]`},
		{"PING\r\nget k\n", `["PING"]|["get" "k"]`},
		{"set k \"a b\\x41\\n\\q\" 'it\\'s \\n'\r\n", `["set" "k" "a bA\nq" "it's \\n"]`},
		{"set \"\" ''\r\n", `["set" "" ""]`},
		{"set \"a\"b\r\n", "Protocol error: unbalanced quotes in request"},
		{"set \"a\r\n", "Protocol error: unbalanced quotes in request"},
		{"*x\r\n", "Protocol error: invalid multibulk length"},
		{"*3000000\r\n", "Protocol error: invalid multibulk length"},
		{"*99999999999999999999\r\n", "Protocol error: invalid multibulk length"},
		{"*1\r\n+1\r\n", "Protocol error: expected '$', got '+'"},
		{"*1\r\n\x00", "Protocol error: expected '$', got '?'"},
		{"*1\r\n$x\r\n", "Protocol error: invalid bulk length"},
		{"*1\r\n$-1\r\n", "Protocol error: invalid bulk length"},
		{"*1\r\n$2000000\r\n", "unexpected EOF"},
		{"*1\r\n$536870913\r\n", "Protocol error: invalid bulk length"},
		{"*1\r\n$9223372036854775806\r\n", "Protocol error: invalid bulk length"},
		{"*1" + long, "Protocol error: too big mbulk count string"},
		{"*1\r\n$1" + long, "Protocol error: too big bulk count string"},
		{long, "Protocol error: too big inline request"},
		{"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET a b\r\n", "HTTP"},
		{"GET / HTTP/1.1\r\nhost: x\r\nSET a b\r\n", "HTTP"},
		{"PING\r\nPOST / HTTP/1.1\r\n", `["PING"]|silence`},
		{"PING\r\nGET / HTTP/1.1\r\nhost: x\r\nSET a b\r\n", `["PING"]|["GET" "/" "HTTP/1.1"]|silence`},
		{"GET /a\r\nSET /a HTTP/1.1\r\n", `["GET" "/a"]|["SET" "/a" "HTTP/1.1"]`},
		{"SET /a HTTP/1.1\r\n", `["SET" "/a" "HTTP/1.1"]`},
		{"\x16\x03\x01\x02\x00\x01\x00", "TLS"},
		{"*2\r\n$3\r\nGET\r\n$5\r\nab", "unexpected EOF"},
		{"*2\r\n", "unexpected EOF"},
	} {
		for name, src := range map[string]io.Reader{"whole": strings.NewReader(c.in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
			if got := commands(src, testLimits, true); got != c.want {
				t.Errorf("%.60q, %s:\n got %.200s\nwant %s", c.in, name, got, c.want)
			}
		}
	}
}

func TestStrangersSendSmallCommands(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"*11\r\n", "Protocol error: unauthenticated multibulk length"},
		{"*1\r\n$16385\r\n", "Protocol error: unauthenticated bulk length"},
		{"*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n", `["AUTH" "x"]`},
	} {
		if got := commands(strings.NewReader(c.in), testLimits, false); got != c.want {
			t.Errorf("%q: %s", c.in, got)
		}
	}
}

func TestACommandIsBoundedAsAWhole(t *testing.T) {
	l := Limits{Args: 10, Bulk: 10, Command: 15}
	in := "*3\r\n$5\r\naaaaa\r\n$10\r\nbbbbbbbbbb\r\n$1\r\nc\r\nPING\r\n"
	want := `aaaaa: the arguments have 16 bytes together, at most 15 are accepted|["PING"]`
	if got := commands(strings.NewReader(in), l, true); got != want {
		t.Error(got)
	}
	if err := (Limits{Args: 1, Bulk: 2, Command: 1}).Validate(); err == nil {
		t.Error("a command without space for its argument is valid")
	}
}

// A command with an argument that is too large is dropped, in whatever pieces it arrives, and the next one is read.
func TestACommandThatIsTooLargeIsDropped(t *testing.T) {
	l := Limits{Args: 10, Bulk: 10, Command: 15}
	large := "$11\r\n" + strings.Repeat("x", 11) + "\r\n"
	const says = "an argument has 11 bytes, at most 10 are accepted"
	for _, c := range []struct{ in, want string }{
		{"*2\r\n$3\r\nSET\r\n" + large, "SET: " + says},
		{"*1\r\n" + large, ": " + says},
		{"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n" + large + "$2\r\nEX\r\n", "SET: " + says},
		{"*3\r\n$3\r\nSET\r\n$9\r\n123456789\r\n" + large, "SET: " + says},
		{"*3\r\n$3\r\nSET\r\n" + large + "$12\r\n" + strings.Repeat("*1\r\n", 3) + "\r\n", "SET: an argument has 12 bytes, " +
			"at most 10 are accepted"},
		{"*3\r\n$3\r\nSET\r\n" + large + "+1\r\n", "Protocol error: expected '$', got '+'"},
		{"*3\r\n$3\r\nSET\r\n" + large + "$536870900\r\n", "Protocol error: invalid bulk length"},
		{"*3\r\n$3\r\nSET\r\n" + large + "$-1\r\n", "Protocol error: invalid bulk length"},
		{"*3\r\n$3\r\nSET\r\n" + large, "unexpected EOF"},
	} {
		in, want := c.in, c.want
		if strings.HasPrefix(want, "SET:") || strings.HasPrefix(want, ":") {
			in, want = c.in+"*1\r\n$4\r\nPING\r\n"+c.in+"PING\r\n", want+`|["PING"]|`+want+`|["PING"]`
		}
		for name, src := range map[string]io.Reader{"whole": strings.NewReader(in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
			if got := commands(src, l, true); got != want {
				t.Errorf("%.60q, %s:\n got %.200s\nwant %s", in, name, got, want)
			}
		}
	}
}

// What is dropped takes no memory.
func TestWhatIsDroppedIsNotKept(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("*2\r\n$3\r\nSET\r\n$67108864\r\n"), &endless{of: []byte("x")}),
		Limits{Args: 10, Bulk: 10, Command: 15})
	r.in.src = io.LimitReader(r.in.src, 64<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := r.Next(); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*mostBuffer {
		t.Errorf("%d bytes were allocated", n)
	}
}

func TestReadyTellsWhatIsThereWithoutReading(t *testing.T) {
	src, sink := io.Pipe()
	go func() { // ends with the pipe
		_, _ = io.WriteString(sink, "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*1\r\n$3\r\nc")
		_, _ = io.WriteString(sink, "cc\r\n")
		_ = sink.Close()
	}()
	r := NewReader(src, testLimits)
	if r.Ready() {
		t.Error("ready before anything was read")
	}
	for i, want := range []struct {
		text  string
		ready bool
	}{{"a", true}, {"b", false}, {"ccc", false}} {
		args, err := r.Next()
		if err != nil || string(args[0]) != want.text || r.Ready() != want.ready || string(args[0]) != want.text {
			t.Errorf("command %d: %q, %v, ready %v", i, args, err, r.Ready())
		}
	}
}

// TestAnnouncedLengthsAllocateNothing: memory follows what arrives.
func TestAnnouncedLengthsAllocateNothing(t *testing.T) {
	huge := Limits{Args: 1 << 30, Bulk: 1 << 40, Command: 1 << 50}
	for _, in := range []string{"*1000000\r\n$1\r\na\r\n", "*1\r\n$1000000000000\r\n" +
		strings.Repeat("x", 10_000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := commands(strings.NewReader(in), huge, true); got != "unexpected EOF" {
			t.Errorf("%.20q: %s", in, got)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<17 {
			t.Errorf("%.20q: %d bytes were allocated", in, n)
		}
	}
}

func TestALargeBufferIsGivenBack(t *testing.T) {
	value := strings.Repeat("v", 1<<19)
	r := NewReader(strings.NewReader(fmt.Sprintf("*1\r\n$%d\r\n%s\r\nPING\r\n", len(value), value)), testLimits)
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = r.Next() // at the end
	if len(r.in.b) > keptBuffer {
		t.Errorf("the buffer keeps %d bytes", len(r.in.b))
	}
}

// FuzzReader: however the bytes arrive, the commands are the same, and memory is in proportion to what arrived.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"*1\r\n$4\r\nPING\r\n", "set k \"a\\x\" 'b'\r\n", "*2\r\n$1\r\na\r\n$0\r\n\r\n*0\r\n",
		"*1\r\n$9223372036854775806\r\n", "POST /\r\n", "*-1\r\n*1\r\n$-1\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		l := Limits{Args: 64, Bulk: 1 << 10, Command: 1 << 12}
		whole := commands(bytes.NewReader(in), l, true)
		if slow := commands(iotest.OneByteReader(bytes.NewReader(in)), l, true); slow != whole {
			t.Errorf("byte by byte: %s, at once: %s", slow, whole)
		}
		r := NewReader(bytes.NewReader(in), l)
		for {
			if _, err := r.Next(); err != nil && !errors.As(err, new(*TooLarge)) {
				break
			}
		}
		if len(r.in.b) > 4*len(in)+4*firstBuffer {
			t.Errorf("%d bytes made a buffer of %d", len(in), len(r.in.b))
		}
	})
}

func BenchmarkReader(b *testing.B) {
	one := []byte("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000001234\r\n$256\r\n" + strings.Repeat("v", 256) + "\r\n")
	r := NewReader(&endless{of: one}, testLimits)
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// endless reads the same bytes again and again.
type endless struct {
	of []byte
	at int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c := copy(p[n:], e.of[e.at:])
		n, e.at = n+c, (e.at+c)%len(e.of)
	}
	return n, nil
}
