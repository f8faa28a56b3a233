package transport

import (
	"context"
	"testing"
)

// A peer is dialled where it says that it is only while it is not reached where it is listed, and not there for ever.
func TestWhereAPeerIsDialled(t *testing.T) {
	p := newPeer(context.Background(), 3)
	step := func(what, want string, news, wantNews bool) {
		t.Helper()
		if got := p.address(); got != want || news != wantNews {
			t.Errorf("%s: dialled at %q, want %q; news %v", what, got, want, news)
		}
	}
	p.setAddress("old:1")
	p.unreached("old:1")
	step("nothing else is known", "old:1", false, false)
	step("it says that it is elsewhere", "old:1", p.tell("new:1"), true)
	step("it says so again", "old:1", p.tell("new:1"), false)
	p.unreached("old:1")
	p.unreached("old:1") // of another connection
	step("it is not reached where it is listed", "new:1", false, false)
	if s := p.state(); !s.Moved || s.Addr != "new:1" {
		t.Errorf("%+v", s)
	}
	p.setAddress("old:1")
	step("another membership with the same address", "new:1", false, false)
	p.unreached("new:1")
	step("nor is it where it says", "old:1", false, false)
	p.unreached("old:1")
	p.setAddress("third:1")
	step("the members have another address", "third:1", false, false)
	step("it says what is listed", "third:1", p.tell("third:1"), false)
	p.unreached("third:1")
	step("there is one address", "third:1", false, false)
	step("it says nothing", "third:1", p.tell(""), false)
	p.unreached("third:1")
	step("it is of an older release", "third:1", false, false)
}

// An address of --cluster is proven only if the peer was reached there or gives it as its own. It is no longer proven
// when the peer gives another address.
func TestWhereAPeerIsProvenToBe(t *testing.T) {
	p := newPeer(context.Background(), 3)
	step := func(what string, want bool) {
		t.Helper()
		if s := p.state(); s.Proven != want {
			t.Errorf("%s: %+v", what, s)
		}
	}
	step("no address", false)
	p.setAddress("old:1")
	step("a hint", false)
	p.answers("old:1")
	step("it has answered there", true)
	p.tell("new:1")
	step("it says that it is elsewhere", false)
	p.answers("old:1")
	step("it has answered there all the same", true)
	p.unreached("old:1")
	step("it is dialled where it says that it is", true)
	p.setAddress("third:1")
	step("the members have another address", false)
	p.tell("third:1")
	step("it says the same", true)
}
