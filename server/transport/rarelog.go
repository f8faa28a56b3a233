package transport

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/server/wire"
)

// rareLog writes the lines that strangers and faulty peers cause, so that they cannot fill the log.
type rareLog struct {
	zerolog.Logger
	limit   lineLimit
	refused atomic.Uint64 // connections that this node refused
}

// rarely calls write unless the same line was written a short while ago.
func (l *rareLog) rarely(line string, write func()) {
	if l.limit.allow(line, time.Now()) {
		write()
	}
}

// refusal logs a refusal by either side.
func (l *rareLog) refusal(remote string, r *Refusal) {
	if r.Reason == wire.ReasonNotReady {
		l.Debug().Str("remote", remote).Bool("by_peer", r.ByPeer).Msg(r.Text)
		return
	}
	if !r.ByPeer {
		l.refused.Add(1)
	}
	l.rarely(fmt.Sprint(r.Reason, r.ByPeer, r.Text), func() {
		l.Warn().Str("remote", remote).Bool("by_peer", r.ByPeer).Str("reason", r.Text).Msg("connection refused")
	})
}

// lineLimit lets each line through once, and at most maxLines different ones, in each span of logEvery.
type lineLimit struct {
	mu      sync.Mutex
	began   time.Time
	written map[string]struct{}
}

func (l *lineLimit) allow(line string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written == nil || now.Sub(l.began) >= logEvery {
		l.began, l.written = now, make(map[string]struct{})
	}
	if _, again := l.written[line]; again || len(l.written) >= maxLines {
		return false
	}
	l.written[line] = struct{}{}
	return true
}
