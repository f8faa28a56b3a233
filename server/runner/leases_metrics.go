package runner

import "tenure/server/metrics"

// registerGauges registers what is read from published values when somebody asks for it.
func (l *Leases) registerGauges() {
	gauge := func(name, help string, read func() float64) { metrics.Gauge(l.cfg.Registry, name, help, nil, read) }
	gauge("named_leases", "Names of leases that this node's acceptor remembers, live or not.",
		func() float64 { return float64(l.view.Load().Records) })
	gauge("named_lease_requests", "Requests about named leases under way on this node.",
		func() float64 { return float64(l.view.Load().Attempts) })
	gauge("named_lease_waiting", "Requests that wait for a busy name on this node.",
		func() float64 { return float64(l.view.Load().Waiting) })
	gauge("named_lease_era", "Era of this run's fencing tokens, 0 without one.",
		func() float64 { return float64(l.Era()) })
}
