package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run came to. Its JSON is read by scripts and by the plots: names are only added.
type Result struct {
	Op        string  `json:"op"`
	Mode      string  `json:"mode,omitempty"` // of reads
	ReadShare float64 `json:"read_share,omitempty"`
	Nodes     int     `json:"nodes"` // endpoints that clients were spread over
	Clients   int     `json:"clients"`
	Conns     int     `json:"conns"`
	Keys      int     `json:"keys"`
	ValueSize int     `json:"value_size"`       // bytes
	TTLMS     int64   `json:"ttl_ms,omitempty"` // of leases
	Rate      float64 `json:"rate"`             // asked for, a second; 0: closed loop
	Seed      uint64  `json:"seed"`

	Ops     uint64  `json:"ops"`    // successes answered within the window
	Errors  uint64  `json:"errors"` // all that failed
	Seconds float64 `json:"seconds"`
	OpsPerS float64 `json:"ops_per_s"`
	Latency
	ErrorsByKind map[string]uint64 `json:"errors_by_kind,omitempty"`

	Reads  *Part `json:"reads,omitempty"` // of mixed
	Writes *Part `json:"writes,omitempty"`

	// Endpoints are those at which requests were answered within the window.
	Endpoints []Endpoint `json:"endpoints"`
	Near      string     `json:"near"` // what went to the master

	ClientCPUUS float64 `json:"client_cpu_us_per_op"` // of this process; 0 if the system does not tell
	Interrupted bool    `json:"interrupted,omitempty"`
}

// Endpoint is what one of the endpoints has answered within the window.
type Endpoint struct {
	Address string `json:"address"`
	Node    uint64 `json:"node,omitempty"`   // its number; 0: not known
	Master  bool   `json:"master,omitempty"` // it was named as the master last
	Writes  uint64 `json:"writes"`
	Reads   uint64 `json:"reads"`
}

// answered returns which endpoints have answered.
func (w *world) answered(r *recorder) []Endpoint {
	out := []Endpoint{}
	for i := range w.cfg.Endpoints {
		e := Endpoint{Address: w.conns[0].lines[i].host}
		if e.Writes, e.Reads = r.answeredAt(i); e.Writes+e.Reads == 0 {
			continue
		}
		if i < len(w.cfg.Members) {
			e.Node = w.cfg.Members[i]
		}
		e.Master = e.Node != 0 && e.Node == w.master.number.Load()
		out = append(out, e)
	}
	return out
}

// Part is the reads or the writes of a mixed run.
type Part struct {
	Ops     uint64  `json:"ops"`
	OpsPerS float64 `json:"ops_per_s"`
	Latency
}

// Latency is of successes, in milliseconds.
type Latency struct {
	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	Max  float64 `json:"max_ms"`
	Mean float64 `json:"mean_ms"`
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Latency{
		ms(h.ValueAtQuantile(50)), ms(h.ValueAtQuantile(90)), ms(h.ValueAtQuantile(99)), ms(h.ValueAtQuantile(99.9)),
		ms(h.Max()), float64(int64(h.Mean())) / 1000,
	}
}

// result sums r up; the window was open for took.
func (c Config) result(r *recorder, took, cpu time.Duration) Result {
	halves, failed := r.total()
	out := Result{
		Op: c.Op, Mode: c.Mode, Near: c.Near, Nodes: len(c.Endpoints), Clients: c.Clients, Conns: c.Conns, Keys: c.Keys,
		ValueSize: c.ValueSize, Rate: c.Rate, Seed: c.Seed, Seconds: took.Seconds(),
	}
	part := func(h half) *Part {
		return &Part{Ops: h.answered, OpsPerS: perSecond(h.answered, took), Latency: latencyOf(h.latencies)}
	}
	switch c.Op {
	case Mixed:
		out.ReadShare, out.Writes, out.Reads = c.ReadShare, part(halves[0]), part(halves[1])
	case Get:
	default:
		out.Mode = ""
	}
	if c.leases() {
		out.TTLMS = c.TTL.Milliseconds()
	}
	out.Ops = halves[0].answered + halves[1].answered
	out.OpsPerS = perSecond(out.Ops, took)
	halves[0].latencies.Merge(halves[1].latencies)
	out.Latency = latencyOf(halves[0].latencies)
	for k, n := range failed {
		if n == 0 {
			continue
		}
		if out.ErrorsByKind == nil {
			out.ErrorsByKind = map[string]uint64{}
		}
		out.ErrorsByKind[kind(k).String()] = n
		out.Errors += n
	}
	if out.Ops > 0 {
		out.ClientCPUUS = float64((cpu / time.Duration(out.Ops)).Nanoseconds()) / 1000
	}
	return out
}

func perSecond(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
