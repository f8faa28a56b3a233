package main

import "testing"

// A busy node gets all processors within some tenths of a second; one that is not keeps one; one that becomes calm
// gives them back, but not for a moment's calm.
func TestProcessorsFollowTheUse(t *testing.T) {
	const most = 4
	a := allowance{now: 1, most: most}
	for range 1000 {
		if a.adjust(0.8) || a.now != 1 {
			t.Fatal("a processor more for a node that does not use up one")
		}
	}
	for i := range 10 {
		a.adjust(float64(a.now))
		if want := min(2+i, most); a.now != want {
			t.Fatalf("%d processors after %d full intervals, want %d", a.now, i+1, want)
		}
	}
	for range 10 {
		for range calmFor - 1 {
			a.adjust(0)
		}
		a.adjust(most)
	}
	if a.now != most {
		t.Fatalf("%d processors after moments of calm", a.now)
	}
	for range most * calmFor {
		a.adjust(0)
	}
	if a.now != 1 {
		t.Fatalf("%d processors for an idle node", a.now)
	}
}

// An allowance that fits the use stays.
func TestProcessorsDoNotSwing(t *testing.T) {
	for _, use := range []float64{0.2, 0.6, 0.9, 1.2, 1.6, 2.3, 3.5} {
		a := allowance{now: 1, most: 4}
		for range 20 * calmFor {
			a.adjust(use)
		}
		before := a.now
		for range 20 * calmFor {
			if a.adjust(use); a.now != before {
				t.Fatalf("%d and %d processors at a use of %v", before, a.now, use)
			}
		}
	}
}
