// Package history holds how busy a node was in the last minutes, for people who look at it. It is bounded, in memory,
// and gone with the run of the node; whoever wants more has Prometheus scrape the metrics. Time comes in by the caller.
package history

import "time"

// A Ring keeps a sample for each Every, for Span. The samples of a node take Span/Every times some hundred bytes.
const (
	Every = 5 * time.Second
	Span  = 10 * time.Minute
	most  = int(Span / Every)
)

// MaxLags bounds the members of whom a sample has the lag. More than any cluster has.
const MaxLags = 16

// Sample is how a node was in the time since the sample before, or since it was started.
type Sample struct {
	At       time.Duration // reading of the node's clock
	Requests uint64        // that clients made, of this node
	For      time.Duration // in which they were made
	P99      time.Duration // within which 99 % of them were answered; 0: there were none
	Lags     []Lag         // of the other members, at most MaxLags
}

// Lag is how many slots a member had not applied that this node knew to be chosen.
type Lag struct {
	Node  uint64
	Slots uint64
}

// Ring are the newest samples of a node. The zero value has none. It is not safe for concurrent use.
type Ring struct {
	samples []Sample // the oldest is at next once there are most
	next    int
}

// Add takes a sample. It is not changed any more. Samples come in the order of their time.
func (r *Ring) Add(s Sample) {
	s.Lags = s.Lags[:min(len(s.Lags), MaxLags)]
	if len(r.samples) < most {
		r.samples = append(r.samples, s)
		return
	}
	r.samples[r.next] = s
	r.next = (r.next + 1) % most
}

// Last returns the samples of the Span before now, oldest first. There are fewer if none was taken meanwhile, as while
// the process was suspended.
func (r *Ring) Last(now time.Duration) []Sample {
	out := make([]Sample, 0, len(r.samples))
	for i := range r.samples {
		s := r.samples[(r.next+i)%len(r.samples)]
		if now-s.At <= Span {
			out = append(out, s)
		}
	}
	return out
}
