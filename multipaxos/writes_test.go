package multipaxos

import "testing"

// Of marks that come with each Persist, with the disk behind by some, one after the other is known to be durable, and at
// the end the newest.
func TestMarksBecomeDurableUnderLoad(t *testing.T) {
	w := writes{}
	const behind = 3
	for n := uint64(1); n <= 10; n++ {
		w.persist()
		w.flush(Slot(n))
		if n > behind {
			w.done(n - behind)
		}
		if got := w.marks.durable; n > behind && (uint64(got) > n-behind || uint64(got)+2*behind < n) {
			t.Errorf("after %d, of which %d are durable: mark %d", n, n-behind, got)
		}
	}
	if w.done(10); w.marks.durable != 10 {
		t.Errorf("mark %d when all are durable", w.marks.durable)
	}
}
