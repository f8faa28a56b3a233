package admission

import "github.com/rs/zerolog"

// Control bounds the clients of a node. The listeners of all protocols share one, so that a limit holds for all of them
// together.
type Control struct {
	Limits Limits // with their defaults
	Conns  *Conns
	Rates  *Rates
	Places *Places
	// Pending are the connections over TLS.
	Pending *Pending
}

// maxPending is how many handshakes of clients are under way at most. Each takes some 50 KB.
const maxPending = 1024

// NewControl returns the control of clients that have nothing yet. limits are valid.
func NewControl(limits Limits, log zerolog.Logger, m *Metrics) *Control {
	limits = limits.WithDefaults()
	c := &Control{Limits: limits, Conns: NewConns(limits, m), Rates: NewRates(limits, log, m),
		Places: NewPlaces(limits, m), Pending: NewPending(maxPending)}
	m.pending.Store(c.Pending)
	return c
}
