package resp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"tenure/internal/certs"
	"tenure/internal/wrongport"
	"tenure/server/service"
)

// handshake performs that of TLS, within a time: a connection that says nothing holds a place only so long.
func handshake(nc net.Conn, timeout time.Duration) error {
	t, secured := nc.(*certs.ServerConn)
	if !secured {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := t.HandshakeContext(ctx)
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil {
		withoutTLS(record, timeout)
	}
	return err
}

// withoutTLS answers a client that speaks no TLS, where clients must.
func withoutTLS(record tls.RecordHeaderError, timeout time.Duration) {
	answer := []byte("-ERR this port speaks TLS only: connect with TLS, as redis-cli --tls does\r\n")
	if p := wrongport.Of(record.RecordHeader[:]); p == wrongport.HTTP {
		answer = wrongport.Answer(p, wrongport.RESP)
	}
	if record.Conn.SetWriteDeadline(time.Now().Add(timeout)) == nil {
		_, _ = record.Conn.Write(answer)
	}
}

// provenOf returns what the client of a connection has proven in the handshake.
func provenOf(nc net.Conn) (who service.Credentials) {
	if t, secured := nc.(*certs.ServerConn); secured {
		s := t.ConnectionState()
		who.Certificate = certs.Proven(&s)
	}
	return who
}
