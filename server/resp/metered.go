package resp

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"tenure/server/resp/proto"
)

// metered counts the bytes that a connection has read and written, for the rate of its client: commands and replies
// with large values cost more than others, as over HTTP. It also bounds the time in which a command that has begun to
// arrive must go on, since what has come of it is kept in memory.
type metered struct {
	net.Conn
	moved atomic.Int64 // that nobody was charged for

	in       *proto.Reader
	patience time.Duration   // for each patientBytes of a command
	stopping <-chan struct{} // closed when the server stops, which sets deadlines too
	waiting  bool            // a deadline is set
	taken    uint64          // the commands before the one that it is for
	got      int             // bytes since it was set
}

// patientBytes is as over HTTP.
const patientBytes = 64 << 10

func (m *metered) Read(p []byte) (int, error) {
	if err := m.bound(); err != nil {
		return 0, err
	}
	n, err := m.Conn.Read(p)
	m.moved.Add(int64(n))
	m.got += n
	if errors.Is(err, os.ErrDeadlineExceeded) && m.waiting && !m.stops() {
		err = &proto.Error{Text: "Protocol error: the rest of the command did not come within " + m.patience.String()}
	}
	return n, err
}

// bound sets the deadline of a command that is not whole, and takes it back if none has begun. The time in which the
// commands before were carried out does not count.
func (m *metered) bound() error {
	taken, partial := m.in.Partial()
	set := m.waiting && partial && m.taken == taken && m.got < patientBytes
	if set || !m.waiting && !partial {
		return nil
	}
	deadline := time.Time{}
	if m.waiting, m.taken, m.got = partial, taken, 0; partial {
		deadline = time.Now().Add(m.patience)
	}
	if m.stops() {
		deadline = time.Now()
	}
	return m.SetReadDeadline(deadline)
}

func (m *metered) stops() bool {
	select {
	case <-m.stopping:
		return true
	default:
		return false
	}
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.moved.Add(int64(n))
	return n, err
}
