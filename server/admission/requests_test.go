package admission

import (
	"errors"
	"testing"
	"time"
)

// begin begins requests until one is refused, and returns how many were taken and why no more.
func begin(c *Conns, conn *Conn, p Priority) (all []*Flight, err error) {
	for {
		f, err := c.Begin(conn, p)
		if err != nil {
			return all, err
		}
		all = append(all, &f)
	}
}

func end(flights ...[]*Flight) {
	for _, all := range flights {
		for _, f := range all {
			f.End()
			f.End() // does nothing
		}
	}
}

// However many requests there are, some places are left for those of operators, and some for operators on this machine.
func TestRequestsOfOperators(t *testing.T) {
	c := newConns(Limits{Requests: 100, RequestsPerSource: 1000, Reserved: 20})
	far, here := c.Admit(from("192.0.2.1")), c.Admit(from("127.0.0.1"))
	defer release(c, far, here)
	for range 2 {
		ordinary, err := begin(c, far, Ordinary)
		if len(ordinary) != 80 || !errors.Is(err, ErrRequests) {
			t.Errorf("%d ordinary requests, %v", len(ordinary), err)
		}
		if _, err := c.Begin(here, Ordinary); !errors.Is(err, ErrRequests) {
			t.Errorf("an ordinary request of this machine: %v", err)
		}
		operators, err := begin(c, far, Operator)
		if len(operators) != 10 || !errors.Is(err, ErrRequests) {
			t.Errorf("%d requests of operators, %v", len(operators), err)
		}
		local, err := begin(c, here, Operator)
		if len(local) != 10 || !errors.Is(err, ErrRequests) {
			t.Errorf("%d requests of operators here, %v", len(local), err)
		}
		end(ordinary, operators, local)
	}
	if n := c.inFlight.Load(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// S5: when there is no place for others, some are left for requests that give something back, and they leave most of
// the reserved ones to operators.
func TestReleasesHaveAReserve(t *testing.T) {
	c := newConns(Limits{Requests: 100, RequestsPerSource: 1000, Reserved: 20})
	far, here := c.Admit(from("192.0.2.1")), c.Admit(from("127.0.0.1"))
	defer release(c, far, here)
	ordinary, _ := begin(c, far, Ordinary)
	releases, err := begin(c, here, Release)
	if len(ordinary) != 80 || len(releases) != 5 || !errors.Is(err, ErrRequests) {
		t.Errorf("%d releases beside %d other requests, %v", len(releases), len(ordinary), err)
	}
	operators, _ := begin(c, far, Operator)
	if len(operators) != 5 {
		t.Errorf("%d requests of operators beside them", len(operators))
	}
	end(ordinary, releases, operators)

	c = newConns(Limits{Requests: 100, RequestsPerSource: 10})
	far = c.Admit(from("192.0.2.1"))
	defer release(c, far)
	ordinary, _ = begin(c, far, Ordinary)
	if releases, err = begin(c, far, Release); len(releases) != reservedPerSource || !errors.Is(err, ErrSourceRequests) {
		t.Errorf("%d releases of a source with %d other requests, %v", len(releases), len(ordinary), err)
	}
	end(ordinary, releases)
}

// One source does not take all places, except this machine. An operator at that address has some left.
func TestRequestsOfOneSource(t *testing.T) {
	c := newConns(Limits{Requests: 100, RequestsPerSource: 10, Reserved: 20})
	one, same, other := c.Admit(from("192.0.2.1")), c.Admit(from("192.0.2.1")), c.Admit(from("192.0.2.2"))
	here := c.Admit(from("127.0.0.1"))
	defer release(c, one, same, other, here)
	ordinary, err := begin(c, one, Ordinary)
	if len(ordinary) != 10 || !errors.Is(err, ErrSourceRequests) {
		t.Errorf("%d requests, %v", len(ordinary), err)
	}
	if _, err := c.Begin(same, Ordinary); !errors.Is(err, ErrSourceRequests) {
		t.Errorf("on another connection: %v", err)
	}
	operator, err := begin(c, same, Operator)
	if len(operator) != reservedPerSource || !errors.Is(err, ErrSourceRequests) {
		t.Errorf("%d requests of an operator, %v", len(operator), err)
	}
	others, err := begin(c, other, Ordinary)
	if len(others) != 10 || !errors.Is(err, ErrSourceRequests) {
		t.Errorf("%d requests of another source, %v", len(others), err)
	}
	local, err := begin(c, here, Ordinary)
	if len(local) != 80-20-reservedPerSource || !errors.Is(err, ErrRequests) {
		t.Errorf("%d requests of this machine, %v", len(local), err)
	}
	end(ordinary, operator, others, local)
	if n := c.inFlight.Load() + one.own.inFlight.Load() + other.own.inFlight.Load(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

func TestWaitsOfOneClient(t *testing.T) {
	p := NewPlaces(Limits{WaitingPerClient: 3}, NewMetrics())
	a, b := Client{Key: "a"}, Client{Key: "b"}
	var all []Place
	for _, c := range []Client{a, a, b, a} {
		place, err := p.Take(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, place)
	}
	if _, err := p.Take(a); !errors.Is(err, ErrWaiting) {
		t.Error(err)
	}
	all[0].Give()
	place, err := p.Take(a)
	if err != nil {
		t.Error(err)
	}
	for range 100 {
		free, err := p.Take(Client{Key: "a", Free: true})
		if err != nil {
			t.Fatal(err)
		}
		free.Give()
	}
	for _, place := range append(all[1:], place) {
		place.Give()
	}
	if len(p.taken) != 0 {
		t.Errorf("%v is left", p.taken)
	}
}

// The more refusals of a source wait, the longer each does: all its connections together get few in a second.
func TestRefusalsOfOneSourceShareTheirTime(t *testing.T) {
	c := newConns(Limits{})
	one, same, other := c.Admit(from("192.0.2.1")), c.Admit(from("192.0.2.1")), c.Admit(from("192.0.2.2"))
	defer release(c, one, same, other)
	var all []func()
	perSecond := 0.0
	for range 1000 {
		d, done := c.delay(one)
		all = append(all, done)
		perSecond = float64(len(all)) / d.Seconds()
	}
	if perSecond > 200 {
		t.Errorf("with %d refusals that wait, %.0f are sent in a second", len(all), perSecond)
	}
	if d, done := c.delay(same); d <= time.Second {
		t.Errorf("%v on another of its connections", d)
	} else {
		done()
	}
	if d, done := c.delay(other); d != slowDownFor {
		t.Errorf("%v for another source", d)
	} else {
		done()
	}
	for range 1000 {
		d, done := c.delay(one)
		if all = append(all, done); d > slowDownMost {
			t.Fatalf("a refusal waits for %v", d)
		}
	}
	for _, done := range all {
		done()
	}
	if d, _ := c.delay(one); d != slowDownFor {
		t.Errorf("%v when no other waits", d)
	}
}

// One source has a bound on what it was sent and does not read, and may have one answer of any size.
func TestAnswersOfOneSource(t *testing.T) {
	c := newConns(Limits{})
	one, same, other, here := c.Admit(from("192.0.2.1")), c.Admit(from("192.0.2.1")), c.Admit(from("192.0.2.2")),
		c.Admit(from("127.0.0.1"))
	defer release(c, one, same, other, here)
	for range 2 {
		huge, err := c.Answering(one, 2*answersOfSource)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Answering(same, 1); !errors.Is(err, ErrAnswers) {
			t.Errorf("beside that: %v", err)
		}
		if taken, err := c.Answering(other, answersOfSource); err != nil {
			t.Errorf("another source: %v", err)
		} else {
			taken()
		}
		huge()
	}
	for range 3 {
		if _, err := c.Answering(here, answersOfSource); err != nil {
			t.Errorf("this machine: %v", err)
		}
	}
}
