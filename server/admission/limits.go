package admission

import (
	"cmp"
	"fmt"
)

// Limits are the bounds of a listener. A zero means the default written beside it.
type Limits struct {
	// Conns bounds open connections, those for operators included. 16,384.
	Conns int
	// ConnsPerSource bounds those of one source. 4,096.
	ConnsPerSource int
	// Requests bounds requests in flight, those of operators included: being read, carried out or answered, but not
	// waiting for a change. 16,384.
	Requests int
	// RequestsPerSource bounds those of one source. 1,024.
	RequestsPerSource int
	// Reserved is how many of Conns, and of Requests, are kept for operators. 256, and at most an eighth of either.
	Reserved int
	// WaitingPerClient bounds the queries and watches of one client that wait for a change. 4,096.
	WaitingPerClient int
	// Loopback applies the bounds for each source to loopback addresses too.
	Loopback bool
	// Rate bounds the requests of one client in a second.
	Rate Rate
}

// Rate bounds how often a client may ask.
type Rate struct {
	Mode Mode
	// PerSecond is how many requests a client may make in a second, on average. 1,000.
	PerSecond int
	// Burst is how many it may make at once, after a pause. Twice PerSecond.
	Burst int
}

// Mode says how to treat requests beyond the rate.
type Mode uint8

// The modes. Permissive counts and logs such requests, Enforcing refuses them.
const (
	Off Mode = iota
	Permissive
	Enforcing
)

var modeTexts = [...]string{"off", "permissive", "enforcing"}

func (m Mode) String() string { return modeTexts[m] }

// ParseMode returns the mode of that name.
func ParseMode(s string) (Mode, error) {
	for m, text := range modeTexts {
		if s == text {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("%q is not a mode; use off, permissive or enforcing", s)
}

// The defaults.
const (
	DefaultConns             = 16_384
	DefaultConnsPerSource    = 4_096
	DefaultRequests          = 16_384
	DefaultRequestsPerSource = 1_024
	DefaultReserved          = 256
	DefaultWaitingPerClient  = 4_096
	DefaultRate              = 1_000
)

// WithDefaults returns l with its zero fields filled.
func (l Limits) WithDefaults() Limits {
	l.Conns = cmp.Or(l.Conns, DefaultConns)
	l.ConnsPerSource = cmp.Or(l.ConnsPerSource, DefaultConnsPerSource)
	l.Requests = cmp.Or(l.Requests, DefaultRequests)
	l.RequestsPerSource = cmp.Or(l.RequestsPerSource, DefaultRequestsPerSource)
	l.Reserved = cmp.Or(l.Reserved, min(DefaultReserved, l.Conns/8, l.Requests/8))
	l.WaitingPerClient = cmp.Or(l.WaitingPerClient, DefaultWaitingPerClient)
	l.Rate.PerSecond = cmp.Or(l.Rate.PerSecond, DefaultRate)
	l.Rate.Burst = cmp.Or(l.Rate.Burst, 2*l.Rate.PerSecond)
	return l
}

// Validate returns an error that names an invalid bound.
func (l Limits) Validate() error {
	l = l.WithDefaults()
	for _, b := range []struct {
		name string
		n    int
	}{
		{"connections", l.Conns}, {"connections of one source", l.ConnsPerSource}, {"requests in flight", l.Requests},
		{"requests in flight of one source", l.RequestsPerSource},
		{"waiting queries of one client", l.WaitingPerClient},
		{"requests of one client in a second", l.Rate.PerSecond}, {"requests of one client at once", l.Rate.Burst},
	} {
		if b.n < 1 {
			return fmt.Errorf("%d %s: must be at least 1", b.n, b.name)
		}
	}
	if most := min(l.Conns, l.Requests) / 2; l.Reserved < 0 || l.Reserved > most {
		return fmt.Errorf("%d connections and requests for operators: must be from 0 to %d, half of the smaller of "+
			"all connections and all requests", l.Reserved, most)
	}
	if int(l.Rate.Mode) >= len(modeTexts) {
		return fmt.Errorf("%d is not a mode of the rate", l.Rate.Mode)
	}
	return nil
}
