package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// A line has nothing of a name that a terminal obeys, and says the same.
func TestALineIsHarmless(t *testing.T) {
	const hostile = "x\n\x1b]0;OWNED\a\u009b2J\u202eevil\u200b\u3164\x7f\r"
	line := (&Record{Time: noon, Act: "kv.set", Keys: []string{hostile}, Missing: hostile}).line()
	text, _ := strings.CutSuffix(string(line), "\n")
	if strings.ContainsAny(text, "\n\r\a\x1b\x7f\u009b\u202e\u200b\u3164") {
		t.Errorf("%q", text)
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil || r.Keys[0] != hostile {
		t.Errorf("%q, %v", r.Keys, err)
	}
}

func TestALine(t *testing.T) {
	for want, r := range map[string]Record{
		`{"time":"2026-11-24T12:00:00Z","node":3,"from":"10.0.0.1:5","accessor":"a-1",` +
			`"certificate":"tenure://c/client/x","act":"kv.set","keys":["a\n/ü"],"revision":7,"outcome":"done"}`: {
			Time: noon, Node: 3, From: "10.0.0.1:5", Accessor: "a-1", Certificate: "tenure://c/client/x", Act: "kv.set",
			Keys: []string{"a\n/ü"}, Revision: 7, Outcome: Done,
		},
		`{"time":"2026-11-24T12:00:00Z","node":1,"from":"","act":"members.remove","outcome":"denied","code":"denied",` +
			`"missing":"'operator:write'"}`: {
			Time: noon, Node: 1, Act: "members.remove", Outcome: Denied, Code: "denied", Missing: "'operator:write'",
		},
	} {
		if got := string(r.line()); got != want+"\n" {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// sink is where a log is written in tests.
type sink struct {
	mu     sync.Mutex
	text   bytes.Buffer
	fail   error
	stuck  chan struct{} // writes wait until it is closed; nil: they do not
	closed bool
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		n, _ := s.text.Write(p[:bytes.IndexByte(p, '\n')+1]) // the first line still fits
		return n, s.fail
	}
	return s.text.Write(p)
}

func (s *sink) Close() error { s.closed = true; return nil }

func (s *sink) set(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }

// acts returns the acts in what was written, and how many lines each line about lost ones tells of.
func acts(t *testing.T, text string) (out []string, lost []uint64) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%q: %v", line, err)
		}
		if r.Act == actLost {
			lost = append(lost, r.Lost)
		}
		out = append(out, r.Act)
	}
	return out, lost
}

// to starts a log that is written there.
func to(s io.WriteCloser, complaints io.Writer) *Log {
	l := &Log{node: 1, to: s, log: zerolog.New(complaints), wake: make(chan struct{}, 1), done: make(chan struct{}),
		denied: denials{each: deniedEach}}
	go l.write()
	return l
}

func TestEveryActIsWritten(t *testing.T) {
	s := &sink{}
	l := to(s, io.Discard)
	for i := range 1000 {
		l.Add(Record{Time: noon, Act: strings.Repeat("x", i%7+1), Outcome: Done})
	}
	if err := l.Close(t.Context()); err != nil || !s.closed {
		t.Fatal(err)
	}
	got, _ := acts(t, s.text.String())
	if len(got) != 1000 || got[6] != "xxxxxxx" || l.lines != 1000 || l.lost != 0 {
		t.Errorf("%d lines, %d counted, %d lost", len(got), l.lines, l.lost)
	}
	l.Add(Record{Time: noon}) // too late: lost, and no panic
	if l.lost != 1 {
		t.Errorf("%d lost after the end", l.lost)
	}
	(*Log)(nil).Add(Record{})
	if err := (*Log)(nil).Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A reader that does not read costs lines, which are counted and told, and makes nobody wait.
func TestLostLinesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var complaints bytes.Buffer
		s := &sink{stuck: make(chan struct{})}
		l := to(s, &complaints)
		reg := prometheus.NewRegistry()
		l.Register(reg)
		long := Record{Time: noon, Act: "a", Keys: []string{strings.Repeat("k", 1<<20)}, Outcome: Done}
		l.Add(Record{Time: noon, Act: "first", Outcome: Done})
		synctest.Wait() // it is being written
		for range 10 {
			l.Add(long)
		}
		if l.lost != 3 {
			t.Fatalf("%d lost of 10 MiB", l.lost)
		}
		close(s.stuck)
		synctest.Wait()
		l.Add(Record{Time: noon, Act: "last", Outcome: Done})
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, lost := acts(t, s.text.String())
		if want := "first a a a a a a a audit.lost last"; strings.Join(got, " ") != want || lost[0] != 3 {
			t.Errorf("%v, %v", got, lost)
		}
		if n := strings.Count(complaints.String(), "lines of the audit log are lost"); n != 1 {
			t.Errorf("said %d times: %s", n, complaints.String())
		}
		if figure(t, reg, "tenure_audit_lost_total") != 3 || figure(t, reg, "tenure_audit_lines_total") != 10 {
			t.Error("the figures do not tell")
		}
	})
}

func figure(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			return f.Metric[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// A disk that is full costs the lines that it cannot take; the log goes on when it can.
func TestAFailingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var complaints bytes.Buffer
		s := &sink{fail: errors.New("no space left on device")}
		l := to(s, &complaints)
		for range 3 {
			l.mu.Lock()
			l.waiting.lines = append(append(l.waiting.lines, (&Record{Act: "a"}).line()...), (&Record{Act: "b"}).line()...)
			l.mu.Unlock()
			l.wakeWriter()
			synctest.Wait()
		}
		s.set(func() { s.fail = nil })
		l.Add(Record{Time: noon, Act: "after"})
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, lost := acts(t, s.text.String())
		if strings.Join(got, " ") != "a a a audit.lost after" || lost[0] != 3 || l.lost != 3 || l.failed != 3 {
			t.Errorf("%v, %v, %d lost, %d failed", got, lost, l.lost, l.failed)
		}
		for _, once := range []string{"no space left", "the audit log is written again"} {
			if n := strings.Count(complaints.String(), once); n != 1 {
				t.Errorf("%s is said %d times: %s", once, n, complaints.String())
			}
		}
	})
}

// A node that stops does not wait for ever for somebody who does not read.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{stuck: make(chan struct{})}
		l := to(s, io.Discard)
		l.Add(Record{Time: noon})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(s.stuck)
	})
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, cfg := range []Config{
		{}, {Path: filepath.Join(dir, "a"), FileBytes: MinFileBytes - 1}, {Path: filepath.Join(dir, "a"),
			FileBytes: 1 << 20, Keep: -1},
		{Path: filepath.Join(dir, "none", "a"), FileBytes: 1 << 20}, {Path: dir, FileBytes: 1 << 20},
		{Path: filepath.Join(dir, "a"), FileBytes: 1 << 20, Keep: MaxKeep + 1},
	} {
		if l, err := Open(cfg, 1, io.Discard, zerolog.Nop()); err == nil {
			t.Errorf("%+v was opened", cfg)
			_ = l.Close(t.Context())
		}
	}
	var out bytes.Buffer
	l, err := Open(Config{Path: Stdout}, 7, &out, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	l.Add(Record{Time: noon, Act: "a"})
	if err := l.Close(t.Context()); err != nil || !strings.Contains(out.String(), `"node":7`) {
		t.Errorf("%q, %v", out.String(), err)
	}
	name := filepath.Join(dir, "audit.jsonl")
	l, err = Open(Config{Path: name, FileBytes: 1 << 20}, 7, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	l.Add(Record{Time: noon, Act: "a"})
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// If a line that reports losses is lost itself, the next written line reports the same losses, and the lost line does
// not count as an act.
func TestLossesAreToldUntilALineOfThemIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &full{}
		l := to(s, io.Discard)
		for range 50 {
			l.Add(Record{Time: noon, Act: "a"})
			synctest.Wait()
		}
		s.space.Store(true)
		l.Add(Record{Time: noon, Act: "after"})
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, lost := acts(t, s.text.String())
		if strings.Join(got, " ") != "audit.lost after" || lost[0] != 50 || l.lost != 50 {
			t.Errorf("%v, %v, %d lost", got, lost, l.lost)
		}
	})
}

// full takes nothing until it has space.
type full struct {
	space atomic.Bool
	text  bytes.Buffer
}

func (f *full) Write(p []byte) (int, error) {
	if !f.space.Load() {
		return 0, errors.New("no space left on device")
	}
	return f.text.Write(p)
}

func (f *full) Close() error { return nil }

// A denied source gets a few lines a second, and one with the number of its other denied requests.
func TestDeniedRequestsDoNotFillTheLog(t *testing.T) {
	s := &sink{}
	l := to(s, io.Discard)
	deny := func(after time.Duration, from string, times int) {
		for range times {
			l.Add(Record{Time: noon.Add(after), From: from, Act: "kv.set", Outcome: Denied})
		}
	}
	deny(0, "10.0.0.1:1", 1000)
	deny(0, "[2001:db8::1]:1", deniedEach)
	deny(0, "[2001:db8::2]:1", 3) // the same network
	deny(0, "10.0.0.2:1", 1)
	l.Add(Record{Time: noon, From: "10.0.0.1:1", Act: "kv.set", Outcome: Done}) // is never left out
	deny(time.Second, "10.0.0.1:1", deniedEach+1)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, rest := 0, map[string][]uint64{}
	for line := range strings.Lines(s.text.String()) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Act == actDenied {
			rest[r.From] = append(rest[r.From], r.Denied)
		} else {
			whole++
		}
	}
	want := map[string][]uint64{"10.0.0.1": {1000 - deniedEach, 1}, "2001:db8::/64": {3}}
	if whole != 3*deniedEach+2 || !reflect.DeepEqual(rest, want) || l.lost != 0 {
		t.Errorf("%d lines, and %v", whole, rest)
	}
	var d denials
	for i := range 2 * maxDeniedSources {
		d.takes(fmt.Sprintf("10.0.%d.%d:1", i/256, i%256))
	}
	if len(d.of) > maxDeniedSources+1 {
		t.Errorf("%d sources are told apart", len(d.of))
	}
}

// The number of denied requests is told when their second is over, also if nothing else happens.
func TestDeniedRequestsAreToldWithoutAnother(t *testing.T) {
	s := &sink{}
	l := to(s, io.Discard)
	for range 2 * deniedEach {
		l.Add(Record{Time: time.Now(), From: "10.0.0.1:1", Act: "kv.set", Outcome: Denied})
	}
	told := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.text.String()
	}
	for end := time.Now().Add(20 * time.Second); !strings.Contains(told(), actDenied); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody is told of the others")
		}
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := told(); strings.Count(got, actDenied) != 1 || !strings.Contains(got, `"denied":20}`) {
		t.Error(got)
	}
}

// Standard output cannot be cut back: the next write ends the line.
func TestATornLineOfStandardOutputIsEnded(t *testing.T) {
	var out short
	u := &unclosed{Writer: &out}
	if n, err := u.Write([]byte("one\ntwo\n")); n != 5 || err == nil {
		t.Fatal(n, err)
	}
	out.all = true
	if n, err := u.Write([]byte("three\n")); n != 6 || err != nil || out.String() != "one\nt\nthree\n" {
		t.Errorf("%d %v %q", n, err, out.String())
	}
}

// short takes five bytes at a time, unless it takes all.
type short struct {
	bytes.Buffer
	all bool
}

func (s *short) Write(p []byte) (int, error) {
	if s.all {
		return s.Buffer.Write(p)
	}
	n, _ := s.Buffer.Write(p[:5])
	return n, io.ErrShortWrite
}
