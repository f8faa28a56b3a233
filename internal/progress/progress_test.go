package progress

import (
	"strings"
	"testing"
	"time"
)

// A file gets a line each LineEvery and one at the end, however often the run reports.
func TestPlainLines(t *testing.T) {
	out := &strings.Builder{}
	m := New(out, "sim", 20_000, "seeds")
	now := m.began
	m.now = func() time.Time { return now }
	for range 70 {
		now = now.Add(time.Second)
		m.Add(10)
	}
	m.Set(720, "2 failed")
	m.End()
	want := "sim: 300 of 20000 seeds after 30s, 10.0/s\n" +
		"sim: 600 of 20000 seeds after 1m0s, 10.0/s\n" +
		"sim 2 failed: 720 of 20000 seeds after 1m10s, 10.3/s\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
	if strings.ContainsRune(out.String(), '\r') {
		t.Error("a carriage return in a file")
	}
}

func TestUnknownTotal(t *testing.T) {
	out := &strings.Builder{}
	m := New(out, "base", 0, "states")
	m.now = func() time.Time { return m.began.Add(100 * time.Millisecond) }
	m.Set(5, "")
	m.End()
	if want := "base: 5 states after 0s\n"; out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// The count never passes the total.
func TestBeyondTheTotal(t *testing.T) {
	out := &strings.Builder{}
	m := New(out, "put", 10, "keys")
	m.Set(11, "")
	m.End()
	if want := "put: 10 of 10 keys after 0s\n"; out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
}

func TestNilMeter(t *testing.T) {
	var m *Meter
	m.Add(1)
	m.Set(1, "")
	m.End()
}
