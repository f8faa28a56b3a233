package sim

import (
	"testing"

	"tenure/internal/ident"
	"tenure/server/wire"
)

// TestHandshakeRefuses: what two nodes say of themselves decides whether they connect, and damage lets nobody in.
func TestHandshakeRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		with func(x *network, a, b *endpoint)
		lets bool
	}{
		{"members", func(*network, *endpoint, *endpoint) {}, true},
		{"the dialler's disk was replaced", func(_ *network, a, _ *endpoint) { a.drive.wipe() }, false},
		{"the listener's disk was replaced", func(_ *network, _, b *endpoint) { b.drive.wipe() }, false},
		{"the dialler is no member", func(_ *network, _, b *endpoint) {
			b.drive.members.Members = append([]ident.Member(nil), b.drive.members.Members[1:]...)
		}, false},
	} {
		w := newWorld(Config{Seed: 1, Without: allFaults})
		a, b := w.net.nodes[0], w.net.nodes[1]
		for !a.up() || !b.up() {
			w.step()
		}
		c.with(w.net, a, b)
		if got := w.net.shakeHands(a, b); got != c.lets {
			t.Errorf("%s: connected: %v", c.name, got)
		}
		if got := w.net.admits(b, a); got != c.lets {
			t.Errorf("%s: admitted: %v", c.name, got)
		}
		hello := w.net.hello(wire.KindLog, a, b)
		if w.net.hears(b, packet{bytes: hello[:len(hello)/2], fault: Cut}) {
			t.Errorf("%s: a hello that was cut off is taken for one", c.name)
		}
	}
}
