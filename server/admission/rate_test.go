package admission

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func newRates(r Rate, log *bytes.Buffer) *Rates {
	logger := zerolog.Nop()
	if log != nil {
		logger = zerolog.New(log)
	}
	return NewRates(Limits{Rate: r}, logger, NewMetrics())
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// took returns how many of n requests of c at now are taken, and the last error with its delay.
func took(r *Rates, c Client, n int, now time.Time) (taken int, retry time.Duration, err error) {
	for range n {
		d, e := r.Take(c, 1, Ordinary, now)
		if e == nil {
			taken++
		} else {
			retry, err = d, e
		}
	}
	return taken, retry, err
}

// A client has its burst, then its rate, and is told when to come again; others have their own.
func TestRateOfOneClient(t *testing.T) {
	r := newRates(Rate{Mode: Enforcing, PerSecond: 10, Burst: 20}, nil)
	a := Client{Key: "a"}
	n, retry, err := took(r, a, 100, start)
	if n != 20 || !errors.Is(err, ErrRate) || retry != 100*time.Millisecond {
		t.Errorf("%d at once, %v, again after %v", n, err, retry)
	}
	if n, _, _ := took(r, a, 100, start.Add(retry)); n != 1 {
		t.Errorf("%d after that", n)
	}
	if n, _, _ := took(r, a, 100, start.Add(retry+time.Second)); n != 10 {
		t.Errorf("%d a second later", n)
	}
	if n, _, _ := took(r, Client{Key: "b"}, 100, start); n != 20 {
		t.Errorf("%d of another client", n)
	}
	if n, _, _ := took(r, Client{Key: "a", Free: true}, 100, start); n != 100 {
		t.Errorf("%d of a client without a bound", n)
	}
	if n, _, _ := took(r, a, 100, start.Add(time.Hour)); n != 20 {
		t.Errorf("%d after a pause", n)
	}
}

// S5: a client that may ask nothing more gives back what it has, on credit.
func TestReleasesAreOnCredit(t *testing.T) {
	r := newRates(Rate{Mode: Enforcing, PerSecond: 10, Burst: 20}, nil)
	a := Client{Key: "a"}
	if n, _, _ := took(r, a, 100, start); n != 20 {
		t.Errorf("%d at once", n)
	}
	n := 0
	for ; n < 100; n++ {
		if _, err := r.Take(a, 1, Release, start); err != nil {
			break
		}
	}
	if n != 20 {
		t.Errorf("%d releases on credit", n)
	}
	if n, _, _ := took(r, a, 100, start.Add(3*time.Second)); n != 10 {
		t.Errorf("%d when a second is left of three, of which two went into debts", n)
	}
}

// A client pays the cost of its request, partly after the fact: then it owes the rest.
func TestWhatARequestCosts(t *testing.T) {
	for lines, want := range map[int]int{0: 1, 20: 1, 32: 2, 100: 4} {
		if got := Cost(lines); got != want {
			t.Errorf("%d lines of headers cost %d, want %d", lines, got, want)
		}
	}
	if cost, rest := CostOfBytes(512<<10 + 7); cost != 8 || rest != 7 {
		t.Errorf("512 KiB and 7 bytes cost %d, and %d are left", cost, rest)
	}
	r := newRates(Rate{Mode: Enforcing, PerSecond: 10, Burst: 20}, nil)
	a := Client{Key: "a"}
	if _, err := r.Take(a, 15, Ordinary, start); err != nil {
		t.Error(err)
	}
	if retry, err := r.Take(a, 15, Ordinary, start); !errors.Is(err, ErrRate) || retry != time.Second {
		t.Errorf("%v, again after %v", err, retry)
	}
	if _, err := r.Take(Client{Key: "b"}, 1000, Ordinary, start); err != nil {
		t.Errorf("more than a full bucket is never enough for: %v", err)
	}
	for range 10 {
		r.Charge(a, 1000, start)
	}
	// It owes a full bucket, and no more: two seconds later it has none, and then its rate again.
	if n, _, _ := took(r, a, 100, start.Add(2*time.Second)); n != 0 {
		t.Errorf("%d while it owes some", n)
	}
	if n, _, _ := took(r, a, 100, start.Add(3*time.Second)); n != 10 {
		t.Errorf("%d a second after it has paid", n)
	}
	free := Client{Key: "a", Free: true}
	if r.Charge(free, 1000, start); r.known() != 2 {
		t.Errorf("%d clients are known", r.known())
	}
}

// A bucket is remembered until its debt is paid, not only for the time that an empty bucket takes to fill.
func TestDebtsAreNotForgotten(t *testing.T) {
	r := newRates(Rate{Mode: Enforcing, PerSecond: 10, Burst: 20}, nil)
	a, other := Client{Key: "a"}, Client{Key: "b"}
	const owes = 19 // in tenths of a second, just before another generation may begin
	for tenth := range 60 {
		now := start.Add(time.Duration(tenth) * 100 * time.Millisecond)
		_, _ = r.Take(other, 1, Ordinary, now) // keeps the generations going
		switch {
		case tenth == owes:
			took(r, a, 20, now)
			r.Charge(a, 20, now)
		case tenth == owes+22:
			if n, _, _ := took(r, a, 100, now); n > 2 {
				t.Errorf("%d requests while it owes them", n)
			}
		}
	}
}

func TestModesOfTheRate(t *testing.T) {
	for mode, want := range map[Mode]struct{ taken, lines int }{Off: {1000, 0}, Permissive: {1000, 2}, Enforcing: {11, 2}} {
		var log bytes.Buffer
		r := newRates(Rate{Mode: mode, PerSecond: 1, Burst: 1}, &log)
		taken := 0
		for i := range 1000 {
			if _, err := r.Take(Client{Key: "10.0.0.7"}, 1, Ordinary, start.Add(time.Duration(i)*10*time.Millisecond)); err == nil {
				taken++
			}
		}
		_, _ = r.Take(Client{Key: "10.0.0.7"}, 1, Ordinary, start.Add(10*time.Second+20*time.Millisecond))
		_, _ = r.Take(Client{Key: "10.0.0.7"}, 1, Ordinary, start.Add(10*time.Second+30*time.Millisecond))
		if taken != want.taken && taken != want.taken-1 {
			t.Errorf("%v: %d of 1000 were taken", mode, taken)
		}
		if n := strings.Count(log.String(), "\n"); n != want.lines || n > 0 && !strings.Contains(log.String(), "10.0.0.7") {
			t.Errorf("%v: %d lines: %s", mode, n, &log)
		}
	}
}

// Nobody gets more by being forgotten: not while many others come, and not by changing names.
func TestForgettingGivesNothing(t *testing.T) {
	r := newRates(Rate{Mode: Enforcing, PerSecond: 10, Burst: 20}, nil)
	a, taken := Client{Key: "a"}, 0
	others := 0
	now := start
	for range 100 { // ten seconds
		n, _, _ := took(r, a, 5, now)
		taken += n
		for range maxBuckets / 20 {
			others++
			_, _ = r.Take(Client{Key: fmt.Sprint(others)}, 1, Ordinary, now)
		}
		if n := r.known(); n > maxBuckets {
			t.Fatalf("%d buckets", n)
		}
		now = now.Add(100 * time.Millisecond)
	}
	if most := 20 + 10*10; taken > most {
		t.Errorf("%d requests in ten seconds, at most %d are allowed", taken, most)
	}
	// The table is full of those: more of them are one client together.
	many := 0
	for i := range 10 * maxBuckets {
		if _, err := r.Take(Client{Key: fmt.Sprint("late ", i)}, 1, Ordinary, now); err == nil {
			many++
		}
	}
	if many > maxBuckets+20 {
		t.Errorf("%d of %d clients that came at once were let in", many, 10*maxBuckets)
	}
}
