package resp

import (
	"fmt"
	"testing"
)

// A full table pushes out the client who fills it: neither one who has less, nor a newcomer.
func TestWhatANodeKeepsOfClientsIsBounded(t *testing.T) {
	m := byClient[int, string]{each: 8, all: 10}
	m.put("victim", 1, "a")
	m.put("victim", 2, "b")
	for i := range 100 {
		m.put("flood", i, "x")
	}
	for i := range 3 {
		m.put(fmt.Sprint("other ", i), 1, "x")
	}
	if got := m.keys("victim"); len(got) != 2 {
		t.Errorf("the victim has %v", got)
	}
	if got := m.keys("flood"); len(got) != 5 || got[0] != 95 {
		t.Errorf("the flood has %v", got)
	}
	for i := range 100 { // clients without end
		m.put(fmt.Sprint("client ", i), 1, "x")
	}
	if n := m.len(); n != 10 {
		t.Errorf("%d entries", n)
	}
	if got := m.keys("client 99"); len(got) != 1 {
		t.Errorf("the newest client has %v", got)
	}
	if _, known := m.get("client 99", 2); known {
		t.Error("one that was never put")
	}
}
