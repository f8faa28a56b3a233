package freeport

import (
	"net"
	"testing"
)

func TestRunIsFreeAndBelowTheEphemeralPorts(t *testing.T) {
	first, err := Run(5)
	if err != nil {
		t.Fatal(err)
	}
	if first < lowest || first+5 > highest {
		t.Errorf("ports %d to %d are outside %d to %d", first, first+4, lowest, highest)
	}
	for port := first; port < first+5; port++ {
		l, err := net.Listen("tcp", Address(port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if Free(first-1, 3) {
		t.Errorf("two of the ports from %d on are taken, and said to be free", first-1)
	}
}

func TestRunRefusesWhatCannotBe(t *testing.T) {
	for _, n := range []int{-1, 0, highest} {
		if _, err := Run(n); err == nil {
			t.Errorf("%d ports in a row were found", n)
		}
	}
}

// Two takers that begin at the same place, as processes whose ids are a multiple of shares apart do, share no port.
func TestEachProcessHasAShareForItself(t *testing.T) {
	first, second := take(3), take(3)
	if first == second {
		t.Errorf("share %d was taken twice", first)
	}
}
