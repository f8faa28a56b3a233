package admission

import "sync"

// Places are those in which the queries and watches of each client wait.
type Places struct {
	max     int // of one client
	reached *reached

	mu    sync.Mutex
	taken map[string]int // by the client's key; only clients that have some
}

// NewPlaces returns Places, none of them taken.
func NewPlaces(limits Limits, m *Metrics) *Places {
	return &Places{max: limits.WithDefaults().WaitingPerClient, reached: &m.reached, taken: map[string]int{}}
}

// Place is one of them. The zero Place is none.
type Place struct {
	places *Places
	key    string
}

// Take takes a place for c, to be given back. The error is ErrWaiting.
func (p *Places) Take(c Client) (Place, error) {
	if c.Free {
		return Place{}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[c.Key] >= p.max {
		p.reached.waiting.Inc()
		return Place{}, ErrWaiting
	}
	p.taken[c.Key]++
	return Place{p, c.Key}, nil
}

// Give gives the place back.
func (p Place) Give() {
	if p.places == nil {
		return
	}
	p.places.mu.Lock()
	defer p.places.mu.Unlock()
	if p.places.taken[p.key]--; p.places.taken[p.key] == 0 {
		delete(p.places.taken, p.key)
	}
}
