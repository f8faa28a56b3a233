package resp

import (
	"errors"
	"net"
	"sync"
	"time"

	"tenure/internal/wrongport"
	"tenure/server/resp/proto"
)

// sender is the replies of a connection that are not sent yet, and sends them.
type sender struct {
	proto.Writer
	net     net.Conn
	timeout time.Duration // of sending
	mu      *sync.Mutex   // see subscriptions
	closing bool          // the connection ends after the replies
}

// send sends the replies in one go.
func (s *sender) send() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sendAll(s.net, &s.Writer, s.timeout)
}

// flush sends the replies so far, and reports whether it could; if not the connection ends.
func (s *sender) flush() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sendNow()
}

// sendNow sends the replies so far, with mu held, and reports whether it could. A connection that cannot be sent to
// ends: no second try waits.
func (s *sender) sendNow() bool {
	if sendAll(s.net, &s.Writer, s.timeout) != nil {
		s.closing = true
		_ = s.net.Close()
		return false
	}
	return true
}

// answer runs write, which writes replies. Large ones are sent meanwhile: a pipeline may ask for more than is to be
// kept in memory. What was begun to be sent is sent as a whole: no message comes between.
func (s *sender) answer(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := false
	s.Full = func() bool {
		began = true
		return s.sendNow()
	}
	write()
	if s.Full = nil; began {
		s.sendNow()
	}
}

// refuse answers bytes that are no command.
func (s *sender) refuse(err error) {
	var e *proto.Error
	switch {
	case !errors.As(err, &e) || e.Silent:
	case e.Speaks != wrongport.Unknown:
		_, _ = s.net.Write(wrongport.Answer(e.Speaks, wrongport.RESP))
	default:
		s.Error("ERR " + e.Text)
	}
}

// sendAll sends what is in w, within timeout, and empties it.
func sendAll(to net.Conn, w *proto.Writer, timeout time.Duration) error {
	if w.Len() == 0 {
		return nil
	}
	defer w.Reset()
	if err := to.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := to.Write(w.Bytes())
	return err
}
