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
	waiting  bool            // a deadline runs
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

// bound sets the deadline of a command that is not whole, and takes it back for one that has not begun.
func (m *metered) bound() error {
	partial := m.in.Partial()
	if partial == m.waiting && m.got < patientBytes || !partial && !m.waiting {
		return nil
	}
	deadline := time.Time{}
	if m.waiting, m.got = partial, 0; partial {
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
