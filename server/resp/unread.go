package resp

import (
	"fmt"
	"sync"
	"sync/atomic"

	"tenure/server/admission"
)

// holding counts bytes that a connection keeps on the node: replies that are not sent yet, or the commands that wait
// for EXEC and the keys of WATCH. They are counted while they are read, so a refusal costs no memory. All connections
// together hold at most as many as most says. One source holds at most half of what the others leave, so it is refused
// before them; but it may always hold one reply.
type holding struct {
	all      *atomic.Int64   // shared.unread
	own      *source         // nil: without that bound
	admitted *admission.Conn // whose source it is
	most     int64           // Config.MaxUnreadBytes
	counted  int64           // in all
	small    int64           // not yet: less than largeReply
	greedy   bool            // hold has reported false because of own
}

// hold counts bytes that were read for a reply. It reports false if all connections together, or those of the source,
// have too many.
func (h *holding) hold(bytes int) bool {
	if h.small += int64(bytes); h.small < largeReply {
		return true
	}
	more := h.small
	h.small = 0
	h.counted += more
	all := h.all.Add(more)
	if h.own == nil {
		return all <= h.most
	}
	own := h.own.unread.Add(more)
	h.greedy = own > h.counted && own > h.most-all
	return all <= h.most && !h.greedy
}

// tooMuch is why hold has reported false.
func (h *holding) tooMuch() error {
	return fmt.Errorf("too many bytes of queued commands and unread replies wait on this node (%d MiB)", h.most>>20)
}

// letGo says that what was held is sent, or dropped.
func (h *holding) letGo() {
	h.all.Add(-h.counted)
	if h.own != nil {
		h.own.unread.Add(-h.counted)
	}
	h.counted, h.small, h.greedy = 0, 0, false
}

// sources are those of the open connections. It is safe for concurrent use.
type sources struct {
	mu sync.Mutex
	of map[admission.Source]*source
}

// source is what connections from one address have together.
type source struct {
	unread atomic.Int64 // bytes, as in shared.unread
	conns  int          // guarded by sources.mu
}

// join adds a connection to its source. A connection that is exempt from such bounds has none.
func (s *sources) join(conn *admission.Conn) *source {
	if conn.Client.Free {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[admission.Source]*source)
	}
	own := s.of[conn.Source]
	if own == nil {
		own = &source{}
		s.of[conn.Source] = own
	}
	own.conns++
	return own
}

// leave takes a connection out again.
func (s *sources) leave(conn *admission.Conn) {
	if conn.Client.Free {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.of[conn.Source]; own.conns > 1 {
		own.conns--
	} else {
		delete(s.of, conn.Source)
	}
}
