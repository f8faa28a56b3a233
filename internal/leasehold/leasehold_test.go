package leasehold

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

// N1: the deadline counts from before the request; ownership is read from it.
func TestN1DeadlineCountsFromBeforeTheRequest(t *testing.T) {
	var h Hold
	if h.Held(0) || h.Deadline() != 0 || h.Token() != 0 {
		t.Fatalf("the zero value owns: %+v", h)
	}
	if h.Take(30*ms, Reply{Asked: 10 * ms, TTL: 20 * ms, Token: 7}) || h.Token() != 0 {
		t.Error("a grant that was over when it came counts")
	}
	if !h.Take(29*ms, Reply{Asked: 10 * ms, TTL: 20 * ms, Token: 7}) || h.Deadline() != 30*ms || h.Token() != 7 {
		t.Errorf("granted: %+v", h)
	}
	if !h.Held(30*ms-1) || h.Held(30*ms) {
		t.Error("the end is not at the deadline")
	}
}

// N1: a reply after the release is void, whatever it answers.
func TestN1ReplyAfterRelease(t *testing.T) {
	for _, renewal := range []bool{false, true} {
		var h Hold
		h.Take(0, Reply{TTL: 100 * ms, Token: 7})
		h.Release()
		if h.Held(ms) || h.Deadline() != 0 {
			t.Fatal("held after the release")
		}
		if h.Take(ms, Reply{Asked: ms, TTL: 100 * ms, Token: 8, Renewal: renewal}) || h.Held(ms) || h.Deadline() != 0 {
			t.Errorf("a reply after the release counts, renewal %v", renewal)
		}
	}
}

// N1: a renewal's reply at or after the old deadline is void, and so is any other when the acquisition has ended
// before: somebody else may have owned meanwhile.
func TestN1ReplyAfterTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		granted bool
		arrives time.Duration
		renewal bool
		counts  bool
	}{
		"renewal in time":              {true, 100*ms - 1, true, true},
		"renewal at the deadline":      {true, 100 * ms, true, false},
		"retry in time":                {true, 100*ms - 1, false, true},
		"retry after the end":          {true, 100 * ms, false, false},
		"first answer, however late":   {false, 100 * ms, false, true},
		"renewal of what was not held": {false, 100 * ms, true, false},
	} {
		var h Hold
		if c.granted {
			h.Take(0, Reply{TTL: 100 * ms, Token: 7})
		}
		if got := h.Take(c.arrives, Reply{Asked: 90 * ms, TTL: 100 * ms, Token: 7,
			Renewal: c.renewal}); got != c.counts || h.Held(c.arrives) != c.counts {
			t.Errorf("%s: counts %v", name, got)
		}
	}
}

// N1: that the lease is gone counts if nothing was granted since the renewal was sent. A grant that does not move the
// deadline is not what the lease is held by.
func TestN1GoneAfterALaterGrant(t *testing.T) {
	var h Hold
	h.Take(10*ms, Reply{TTL: 100 * ms, Token: 7})
	if !h.Lost(11 * ms) {
		t.Error("a renewal that was sent after the last grant had come does not count")
	}
	h.Take(50*ms, Reply{Asked: 40 * ms, TTL: 20 * ms, Token: 7, Renewal: true})
	if !h.Lost(30 * ms) {
		t.Error("a grant that was shorter than what was held stands against it")
	}
	h.Take(90*ms, Reply{Asked: 80 * ms, TTL: 100 * ms, Token: 7, Renewal: true})
	for _, asked := range []time.Duration{30 * ms, 90 * ms} {
		if h.Lost(asked) {
			t.Errorf("a renewal that was sent at %v counts, though another was granted at 90ms", asked)
		}
	}
	if !h.Lost(91 * ms) {
		t.Error("a renewal that was sent after that does not count")
	}
}

// N2: the token is the largest of the acquisition. A reply with a smaller one may extend the deadline.
func TestN2LargestToken(t *testing.T) {
	var h Hold
	h.Take(0, Reply{TTL: 100 * ms, Token: 9})
	if !h.Take(50*ms, Reply{Asked: 40 * ms, TTL: 100 * ms, Token: 7, Renewal: true}) || h.Token() != 9 ||
		h.Deadline() != 140*ms {
		t.Errorf("%+v", h)
	}
	if !h.Take(50*ms, Reply{TTL: 60 * ms, Token: 11}) || h.Token() != 11 || h.Deadline() != 140*ms {
		t.Errorf("a shorter grant: %+v", h)
	}
}

// Whatever the replies and their order, the token and the deadline never fall, and an ended hold stays ended.
func TestHoldOnlyMovesForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Hold
		now, over := time.Duration(0), false
		for range 30 {
			was := h
			if rapid.IntRange(0, 20).Draw(t, "release") == 0 {
				h.Release()
			} else {
				h.Take(now, Reply{
					Asked: now - time.Duration(rapid.IntRange(0, 20).Draw(t, "ago"))*ms,
					TTL:   time.Duration(rapid.IntRange(0, 15).Draw(t, "ttl")) * ms,
					Token: rapid.Uint64Range(1, 9).Draw(t, "token"), Renewal: rapid.Bool().Draw(t, "renewal"),
				})
			}
			if h.Token() < was.Token() || (!h.released && h.Deadline() < was.Deadline()) || (over && h.Held(now)) {
				t.Fatalf("%+v became %+v at %v", was, h, now)
			}
			now += time.Duration(rapid.IntRange(0, 6).Draw(t, "pass")) * ms
			over = over || h.released || (h.granted && !h.Held(now))
		}
	})
}
