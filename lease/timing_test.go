package lease

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimingValidate(t *testing.T) {
	good := Timing{MaxMaster: time.Second, MaxUser: 30 * time.Second, DriftPPM: 10_000, Margin: 10 * ms}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Timing)
		says   string
	}{
		"drift below 0":   {func(t *Timing) { t.DriftPPM = -1 }, "0 ≤ ρ < 1000000 ppm"},
		"drift of 1":      {func(t *Timing) { t.DriftPPM = 1_000_000 }, "0 ≤ ρ < 1000000 ppm"},
		"no master lease": {func(t *Timing) { t.MaxMaster = 0 }, "M ≥ 1ms"},
		"no user lease":   {func(t *Timing) { t.MaxUser = -time.Second }, "longest user lease, -1s"},
		"below 1 ms":      {func(t *Timing) { t.MaxUser = ms - 1 }, "M ≥ 1ms"},
		"margin below 0":  {func(t *Timing) { t.Margin = -1 }, "must not be negative"},
		"least margin":    {func(t *Timing) { t.Margin = math.MinInt64 }, "must not be negative"},
		"huge margin":     {func(t *Timing) { t.Margin = math.MaxInt64 }, "longest master lease"},
		"huge lease":      {func(t *Timing) { t.MaxUser = math.MaxInt64 }, "longest user lease"},
		"huge drift":      {func(t *Timing) { t.DriftPPM, t.MaxUser = 999_999, 1<<45 }, "longest user lease"},
	} {
		bad := good
		c.change(&bad)
		if err := bad.Validate(); !errors.Is(err, ErrTiming) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTimingAllows(t *testing.T) {
	timing := Timing{MaxMaster: 5, MaxUser: 9}
	for d, ok := range map[time.Duration]bool{-1: false, 0: false, 1: true, 5: true, 6: false, 9: false} {
		if timing.Allows(d) != ok {
			t.Errorf("%v: not %v", d, ok)
		}
	}
}

// The exclusion is the smallest whole number of milliseconds that satisfies T2, by arithmetic of any size.
func TestExclusionIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timing := Timing{
			DriftPPM: rapid.Int64Range(0, million-1).Draw(t, "drift"),
			Margin:   time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "margin")),
		}
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d"))
		got, err := timing.Exclusion(d)
		// (d·fast + margin·slow) / slow / 1ms, rounded up.
		fast, slow := big.NewInt(million+timing.DriftPPM), big.NewInt(million-timing.DriftPPM)
		num := new(big.Int).Mul(big.NewInt(int64(d)), fast)
		num.Add(num, new(big.Int).Mul(big.NewInt(int64(timing.Margin)), slow))
		den := new(big.Int).Mul(slow, big.NewInt(int64(ms)))
		want, rest := new(big.Int).QuoRem(num, den, new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		want.Mul(want, big.NewInt(int64(ms)))
		if tooLong := want.Cmp(big.NewInt(int64(maxSpan-time.Hour))) >= 0; err != nil {
			if !tooLong || !errors.Is(err, ErrTiming) {
				t.Fatalf("D_A(%v): %v, want %v", d, err, want)
			}
		} else if big.NewInt(int64(got)).Cmp(want) != 0 {
			t.Fatalf("D_A(%v) = %v, want %v", d, got, want)
		}
	})
}

func TestExclusionOfNonsense(t *testing.T) {
	for _, d := range []time.Duration{-1, math.MinInt64, math.MaxInt64} {
		if got, err := (Timing{}).Exclusion(d); !errors.Is(err, ErrTiming) {
			t.Errorf("D_A(%v) = %v, %v", d, got, err)
		}
	}
}

// AtLeast is what another clock shows at least while one shows d: both may err by ρ, in opposite directions.
func TestAtLeast(t *testing.T) {
	for _, c := range []struct{ driftPPM, d, want time.Duration }{
		{0, 1500 * ms, 1500 * ms},
		{0, 1500*ms + 999_999, 1500 * ms}, // whole milliseconds
		{10_000, time.Second, 980 * ms},   // 980.198 ms
		{10_000, 101 * time.Second, 99 * time.Second},
		{10_000, 0, 0},
		{10_000, -time.Second, 0},
		{10_000, maxSpan, 0},
		{500_000, 3 * time.Second, time.Second},
		{-1, time.Second, 0},
		{1_000_000, time.Second, 0},
	} {
		if got := (Timing{DriftPPM: int64(c.driftPPM)}).AtLeast(c.d); got != c.want {
			t.Errorf("ρ = %d ppm: %v of %v, want %v", c.driftPPM, got, c.d, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := Timing{DriftPPM: rapid.Int64Range(0, 999_999).Draw(t, "ppm")}
		d := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "d"))
		if most, ok := x.stretch(x.AtLeast(d)); !ok || most > d {
			t.Errorf("ρ = %d ppm: another clock shows at least %v while one shows %v, which is at most %v", x.DriftPPM,
				x.AtLeast(d), d, most)
		}
	})
}

// A time that overflows when it is stretched is refused: also the first that does.
func TestStretchOverflows(t *testing.T) {
	x := Timing{DriftPPM: 500_000} // three halves by one half: d·3
	const first = (1<<64 + 2) / 3  // d·1,500,000 ≥ 2^64·500,000
	for _, d := range []time.Duration{first - 1, first, first + 1, math.MaxInt64} {
		if got, ok := x.stretch(d); ok {
			t.Errorf("%d is stretched to %d", d, got)
		}
	}
}
