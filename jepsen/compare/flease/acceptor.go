package flease

import "time"

// Acceptor is one process's part of the register of Algorithm 1, in memory only: F7 makes up for what it forgets. It
// looks at no clock but for F7. It holds no pointers: a copy is independent.
type Acceptor struct {
	cfg     Config
	reading Ballot // read_i: the highest that was read under
	written Ballot // write_i
	lease   Lease  // v_i
}

// NewAcceptor starts an acceptor that remembers nothing. The error says what is wrong with the configuration.
func NewAcceptor(c Config) (*Acceptor, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Acceptor{cfg: c}, nil
}

// Clone is an independent copy.
func (a *Acceptor) Clone() *Acceptor {
	c := *a
	return &c
}

// Handle takes one message that is addressed to this acceptor. It returns the reply, if there is one: none to a message
// that is malformed or not for an acceptor, and to any in the silence after a restart.
func (a *Acceptor) Handle(now time.Duration, m Message) (reply Message, ok bool) {
	if m.To != a.cfg.Self || m.Check() != nil || a.cfg.silent(now) {
		return Message{}, false
	}
	switch m.Kind {
	case KindRead:
		return a.read(m), true
	case KindWrite:
		return a.write(m), true
	}
	return Message{}, false
}

// read is F5. A READ that comes a second time, with nothing higher between, is answered as the first one was: in the
// paper no message comes twice, and a repeated one would end its own attempt.
func (a *Acceptor) read(m Message) Message {
	if !a.written.Less(m.Ballot) || m.Ballot.Less(a.reading) {
		return a.nack(KindReadNack, m)
	}
	a.reading = m.Ballot
	return Message{Kind: KindReadAck, From: a.cfg.Self, To: m.From, Ballot: m.Ballot, Lease: a.lease,
		Written: a.written}
}

// write is F6: what was read or written under a higher ballot stands.
func (a *Acceptor) write(m Message) Message {
	if m.Ballot.Less(a.written) || m.Ballot.Less(a.reading) {
		return a.nack(KindWriteNack, m)
	}
	a.written, a.lease = m.Ballot, m.Lease
	return Message{Kind: KindWriteAck, From: a.cfg.Self, To: m.From, Ballot: m.Ballot}
}

// nack carries the higher ballot, for liveness only (F8).
func (a *Acceptor) nack(k Kind, m Message) Message {
	seen := a.reading
	if seen.Less(a.written) {
		seen = a.written
	}
	return Message{Kind: k, From: a.cfg.Self, To: m.From, Ballot: m.Ballot, Seen: seen}
}

// SilentFor is how long this acceptor still keeps silent, 0 if it answers.
func (a *Acceptor) SilentFor(now time.Duration) time.Duration { return max(0, a.cfg.Silent-now) }

// Register is what this part of the register holds, and the ballots it was last read and written under: for tests and
// traces.
func (a *Acceptor) Register() (l Lease, read, written Ballot) { return a.lease, a.reading, a.written }
