package resp

import (
	"net"
	"sync/atomic"
)

// metered counts the bytes that a connection has read and written, for the rate of its client: commands and replies
// with large values cost more than others, as over HTTP.
type metered struct {
	net.Conn
	moved atomic.Int64 // that nobody was charged for
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.moved.Add(int64(n))
	return n, err
}

func (m *metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.moved.Add(int64(n))
	return n, err
}
