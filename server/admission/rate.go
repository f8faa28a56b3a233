package admission

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
)

const (
	maxBuckets = 32_768           // clients whose rate is known
	tellEvery  = 10 * time.Second // how often the log says that clients are too fast
)

// The rate counts requests by their cost for the node, in units of an ordinary request: headers by their lines, body
// and answer by their bytes. An ordinary request costs 1.
const (
	linesForOne = 32
	bytesForOne = 64 << 10
)

// Cost returns the cost of a request with that many lines of headers.
func Cost(lines int) int { return 1 + lines/linesForOne }

// CostOfBytes returns the additional cost of a body and an answer of together bytes bytes, and the rest below one unit.
func CostOfBytes(bytes int64) (cost int, rest int64) {
	return int(bytes / bytesForOne), bytes % bytesForOne
}

// Rates bounds the rate of requests with a bucket of tokens for each client. The full cost of a request is known only
// after its answer, so a client may owe tokens, at most as many as fill a bucket.
//
// Buckets are forgotten only when they are full, so that no client gains a new burst. There are two generations. Every
// fill, the older generation is dropped: its clients have not asked for that long. While there are maxBuckets buckets,
// unknown clients share one.
type Rates struct {
	cfg     Rate
	fill    time.Duration // in which a bucket fills up that owes all it can
	log     zerolog.Logger
	reached *reached
	told    atomic.Int64 // when the log was last told, in Unix nanoseconds

	mu         sync.Mutex
	began      time.Time // of the younger generation
	young, old map[string]*rate.Limiter
	shared     *rate.Limiter
}

// NewRates returns Rates without any client.
func NewRates(limits Limits, log zerolog.Logger, m *Metrics) *Rates {
	cfg := limits.WithDefaults().Rate
	r := &Rates{cfg: cfg, log: log, reached: &m.reached, young: map[string]*rate.Limiter{},
		fill: time.Duration(2 * float64(cfg.Burst) / float64(cfg.PerSecond) * float64(time.Second))}
	r.shared = r.bucket()
	m.watchRates(r)
	return r
}

func (r *Rates) bucket() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(r.cfg.PerSecond), r.cfg.Burst)
}

// Unbounded reports whether Take neither refuses nor counts requests of c. Then the caller need not read a clock for
// it.
func (r *Rates) Unbounded(c Client) bool { return r.cfg.Mode == Off || c.Free }

// Take counts a request of c at now with that cost. The error is ErrRate if the request must be refused; then retry is
// how long the client should wait. A Release is refused only when the client owes all that it can: until then the
// client goes on to owe.
func (r *Rates) Take(c Client, cost int, p Priority, now time.Time) (retry time.Duration, err error) {
	if r.Unbounded(c) {
		return 0, nil
	}
	cost = min(cost, r.cfg.Burst) // a full bucket is enough for anything
	b := r.of(c.Key, now)
	if b.AllowN(now, cost) {
		return 0, nil
	}
	r.reached.rate.Inc()
	r.tell(c, now)
	if r.cfg.Mode == Permissive {
		return 0, nil
	}
	if p == Release && b.TokensAt(now) >= float64(1-r.cfg.Burst) {
		r.Charge(c, cost, now)
		return 0, nil
	}
	missing := max(0, float64(cost)-b.TokensAt(now))
	return time.Duration(missing / float64(r.cfg.PerSecond) * float64(time.Second)), ErrRate
}

// Charge charges c with the cost of a request that was found after Take had admitted it.
func (r *Rates) Charge(c Client, cost int, now time.Time) {
	if r.cfg.Mode == Off || c.Free || cost == 0 {
		return
	}
	b := r.of(c.Key, now)
	r.mu.Lock() // of two that charge at a time, none may see what the other has not taken yet
	defer r.mu.Unlock()
	most := int(b.TokensAt(now)) + r.cfg.Burst
	b.ReserveN(now, max(0, min(cost, most, r.cfg.Burst)))
}

// of returns the bucket of the client of that key.
func (r *Rates) of(key string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.began) >= r.fill {
		r.began, r.old, r.young = now, r.young, map[string]*rate.Limiter{}
	}
	if b := r.young[key]; b != nil {
		return b
	}
	b := r.old[key]
	switch {
	case b != nil:
		delete(r.old, key)
	case len(r.young)+len(r.old) >= maxBuckets:
		return r.shared
	default:
		b = r.bucket()
	}
	r.young[key] = b
	return b
}

// known returns the number of buckets.
func (r *Rates) known() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.young) + len(r.old)
}

// tell logs that a client is too fast, once in a while, whichever client it is.
func (r *Rates) tell(c Client, now time.Time) {
	last := r.told.Load()
	if now.UnixNano()-last < int64(tellEvery) || !r.told.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	r.log.Warn().Str("client", c.Key).Stringer("mode", r.cfg.Mode).Int("per_second", r.cfg.PerSecond).
		Msg("a client sends requests faster than --request-rate allows; this is said of one of them every ten seconds")
}
