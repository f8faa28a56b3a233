package admission

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	if err := (Limits{}).Validate(); err != nil {
		t.Error(err)
	}
	if l := (Limits{Conns: 2}).WithDefaults(); l.Reserved != 0 || l.Validate() != nil {
		t.Errorf("%+v", l)
	}
	for want, l := range map[string]Limits{
		"-1 connections: ":                            {Conns: -1},
		"-1 connections of one source":                {ConnsPerSource: -1},
		"-1 requests in flight: ":                     {Requests: -1},
		"-1 requests in flight of one source":         {RequestsPerSource: -1},
		"-1 waiting queries of one client":            {WaitingPerClient: -1},
		"-1 requests of one client in a second":       {Rate: Rate{PerSecond: -1}},
		"51 connections and requests for operators":   {Conns: 100, Reserved: 51},
		"50 connections and requests for operators":   {Requests: 99, Reserved: 50},
		"-1 connections and requests for operators":   {Reserved: -1},
		"-3 requests of one client at once: must be ": {Rate: Rate{Burst: -3}},
		"9 is not a mode":                             {Rate: Rate{Mode: 9}},
	} {
		if err := l.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	for _, m := range []Mode{Off, Permissive, Enforcing} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v: %v %v", m, got, err)
		}
	}
	if _, err := ParseMode("on"); err == nil {
		t.Error("a mode that is none was taken")
	}
}
