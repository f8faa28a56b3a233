package lease

import "testing"

func TestAcceptorConfigValidate(t *testing.T) {
	good := AcceptorConfig{Self: 1, Timing: tiny}
	if _, err := NewAcceptor(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*AcceptorConfig){
		"no node":   func(c *AcceptorConfig) { c.Self = 0 },
		"no timing": func(c *AcceptorConfig) { c.Timing = Timing{} },
	} {
		bad := good
		change(&bad)
		if _, err := NewAcceptor(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAcceptorIgnoresWhatIsNotForIt(t *testing.T) {
	w := newWorld(t)
	w.start(p, 1, ms)
	good := w.find(KindPrepare, p, 1, 1)
	before := w.state(0)
	for name, change := range map[string]func(*Message){
		"another node": func(m *Message) { m.To = 2 },
		"malformed":    func(m *Message) { m.Class = 2 },
		"a user's":     func(m *Message) { m.Resource, m.Class = "job", 2 },
		"a reply":      func(m *Message) { m.Kind = KindPromise },
	} {
		m := good
		change(&m)
		if reply, ok := w.acceptors[1].Handle(0, m); ok || w.state(0) != before {
			t.Errorf("%s: %v", name, reply)
		}
	}
}
