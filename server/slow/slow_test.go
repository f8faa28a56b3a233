package slow

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"
)

// written returns a Log and the lines that it has written.
func written(above time.Duration) (*Log, *prometheus.Registry, *bytes.Buffer) {
	out, reg := new(bytes.Buffer), prometheus.NewRegistry()
	return New(reg, above, zerolog.New(out)), reg, out
}

// counted returns how many requests were slow.
func counted(l *Log) float64 {
	var m dto.Metric
	if l.slow.Write(&m) != nil {
		return -1
	}
	return m.GetCounter().GetValue()
}

// observed returns how many times of a phase there are.
func observed(t *testing.T, reg *prometheus.Registry, phase string) (n uint64) {
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "phase" && l.GetValue() == phase {
					n += m.Histogram.GetSampleCount()
				}
			}
		}
	}
	return n
}

func named(e *zerolog.Event) { e.Str("path", "/v1/kv/a") }

func TestASlowRequestSaysWhereItsTimeWent(t *testing.T) {
	l, reg, out := written(100 * time.Millisecond)
	r := Request{Body: time.Millisecond, Store: 140 * time.Millisecond, Write: Write{
		Queue: 2 * time.Millisecond, Journal: 90 * time.Millisecond, Quorum: 130 * time.Millisecond, Apply: 8 * time.Millisecond}}
	l.Done(150*time.Millisecond, &r, named)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]any{"message": "slow request", "path": "/v1/kv/a", "took_ms": 150.0, "body_ms": 1.0,
		"queue_ms": 2.0, "journal_ms": 90.0, "quorum_ms": 130.0, "apply_ms": 8.0, "reply_ms": 9.0} {
		if line[name] != want {
			t.Errorf("%s: %v, want %v", name, line[name], want)
		}
	}
	for _, name := range []string{"forward_ms", "read_ms"} {
		if line[name] != nil {
			t.Errorf("%s: %v: it took no time", name, line[name])
		}
	}
	for name, want := range map[string]uint64{"quorum": 1, "apply": 1, "forward": 0} {
		if got := observed(t, reg, name); got != want {
			t.Errorf("%d observations of %s, want %d", got, name, want)
		}
	}
	if got := counted(l); got != 1 {
		t.Errorf("%v slow requests", got)
	}
}

func TestRequestsThatAreNotSlowHaveNoLine(t *testing.T) {
	for _, above := range []time.Duration{0, time.Second} {
		l, _, out := written(above)
		l.Done(900*time.Millisecond, &Request{}, named)
		if out.Len() > 0 || counted(l) != 0 {
			t.Errorf("above %v: %s", above, out)
		}
	}
	var none *Log
	none.Done(time.Hour, &Request{}, named)
}

// Where everything is slow, the log is not filled with it; the counter has all.
func TestLinesAreBounded(t *testing.T) {
	l, _, out := written(time.Millisecond)
	for range 1000 {
		l.Done(time.Second, &Request{}, named)
	}
	if got := strings.Count(out.String(), "\n"); got < burst || got > 3*burst {
		t.Errorf("%d lines", got)
	}
	if got := counted(l); got != 1000 {
		t.Errorf("%v slow requests", got)
	}
}
