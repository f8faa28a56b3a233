package lease

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// ErrTiming is wrapped by every error about lease times.
var ErrTiming = errors.New("lease times")

const (
	million = 1_000_000
	// maxSpan bounds every length of time here (73 years), so that adding one to a clock's reading cannot overflow.
	maxSpan = time.Duration(1) << 61
)

// Timing holds the constants that all nodes of a cluster share; a peer with others must be refused.
type Timing struct {
	MaxMaster time.Duration // M of the master lease: no D_P is longer
	MaxUser   time.Duration // M of users' leases: package named
	DriftPPM  int64         // ρ, bound on the error of any node's clock rate, in millionths
	Margin    time.Duration // slack added to D_A and D_Q
}

// Allows reports whether the master lease may last d.
func (t Timing) Allows(d time.Duration) bool { return d > 0 && d <= t.MaxMaster }

// Validate refuses times under which exclusion or silence could end before an ownership does (T2, T3), that overflow
// or that make no sense. The error shows the inequality that fails, with its numbers.
func (t Timing) Validate() error {
	if t.DriftPPM < 0 || t.DriftPPM >= million {
		return fmt.Errorf("%w: a clock drift of %d ppm does not satisfy 0 ≤ ρ < 1000000 ppm", ErrTiming, t.DriftPPM)
	}
	for i, m := range [...]time.Duration{t.MaxMaster, t.MaxUser} {
		whose := [...]string{"master", "user"}[i]
		if m < time.Millisecond {
			return fmt.Errorf("%w: the longest %s lease, %v, does not satisfy M ≥ 1ms", ErrTiming, whose, m)
		}
		if _, err := t.Exclusion(m); err != nil {
			return fmt.Errorf("longest %s lease: %w", whose, err)
		}
	}
	return nil
}

// Exclusion is T2's D_A(d), and equally D_Q(d): how long an acceptor excludes others after it accepted a lease of d.
// The acceptor's clock may be fast, and the proposer's, on which d is counted, may be slow. D_A(d) is d·(1+ρ)/(1−ρ) +
// margin, rounded up to whole milliseconds, in integers. The error is ErrTiming with the inequality that fails.
func (t Timing) Exclusion(d time.Duration) (time.Duration, error) {
	least, ok := t.stretch(d)
	if !ok || t.Margin >= maxSpan {
		return 0, fmt.Errorf("%w: D_A(%v) = %v·(1+ρ)/(1−ρ) + %v with ρ = %d ppm does not satisfy D_A < %v",
			ErrTiming, d, d, t.Margin, t.DriftPPM, maxSpan)
	}
	if t.Margin < 0 {
		return 0, fmt.Errorf("%w: D_A(%v) = %v breaks D_A ≥ D_P·(1+ρ)/(1−ρ) = %v (ρ = %d ppm, margin = %v): "+
			"the margin must not be negative",
			ErrTiming, d, least+t.Margin, least, t.DriftPPM, t.Margin)
	}
	span := (least + t.Margin + time.Millisecond - 1).Truncate(time.Millisecond)
	if span >= maxSpan {
		return 0, fmt.Errorf("%w: D_A(%v) = %v does not satisfy D_A < %v", ErrTiming, d, span, maxSpan)
	}
	return span, nil
}

// AtLeast is d·(1−ρ)/(1+ρ), rounded down to whole milliseconds: what another clock shows at least while one shows d.
func (t Timing) AtLeast(d time.Duration) time.Duration {
	if d <= 0 || d >= maxSpan || t.DriftPPM < 0 || t.DriftPPM >= million {
		return 0
	}
	hi, lo := bits.Mul64(uint64(d), uint64(million-t.DriftPPM))
	q, _ := bits.Div64(hi, lo, uint64(million+t.DriftPPM))
	return time.Duration(q).Truncate(time.Millisecond)
}

// stretch is d·(1+ρ)/(1−ρ), rounded up to whole nanoseconds; not ok if it makes no sense or overflows.
func (t Timing) stretch(d time.Duration) (time.Duration, bool) {
	if d < 0 || t.DriftPPM < 0 || t.DriftPPM >= million {
		return 0, false
	}
	fast, slow := uint64(million+t.DriftPPM), uint64(million-t.DriftPPM)
	hi, lo := bits.Mul64(uint64(d), fast)
	if hi >= slow {
		return 0, false
	}
	q, r := bits.Div64(hi, lo, slow)
	if r > 0 {
		q++
	}
	return time.Duration(q), q < uint64(maxSpan)
}

// Quarantine is T3's D_Q(M) of the master lease: how long an acceptor must stay silent after it lost its memory,
// because of leases that it may have accepted under this timing.
func (t Timing) Quarantine() (time.Duration, error) { return t.Exclusion(t.MaxMaster) }
