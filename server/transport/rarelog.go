package transport

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// rareLog writes the lines that strangers and faulty peers cause, so that they cannot fill the log. All strangers
// together have one share of it, and each member has another: whatever strangers invent, a member's lines are written.
type rareLog struct {
	zerolog.Logger
	limit   lineLimit
	refused atomic.Uint64 // connections that this node refused
}

// share names the part of the log's limit that a line uses.
type share string

const (
	// strangers is the share of all connections without a proven identity. Without TLS these are all connections.
	strangers share = ""
	ofSelf    share = "self" // what this node has found of itself
)

// ofMember is the share of a member that this node dials. Strangers cannot invent one.
func ofMember(id ballot.NodeID) share { return share(fmt.Sprint("member ", uint64(id))) }

// share returns the share of the connection's peer: by its certificate, which strangers cannot invent either.
func (c *conn) share() share {
	if c.cert == "" {
		return strangers
	}
	return share("certificate " + c.cert)
}

// rarely calls write unless the same line was written a short while ago, or too many others of that share were.
func (l *rareLog) rarely(of share, line string, write func()) {
	if l.limit.allow(of, line, time.Now()) {
		write()
	}
}

// refusal logs a refusal by either side.
func (l *rareLog) refusal(of share, remote string, r *Refusal) {
	if r.Reason == wire.ReasonNotReady {
		l.Debug().Str("remote", remote).Bool("by_peer", r.ByPeer).Msg(r.Text)
		return
	}
	if !r.ByPeer {
		l.refused.Add(1)
	}
	l.rarely(of, fmt.Sprint(r.Reason, r.ByPeer, r.Text), func() {
		l.Warn().Str("remote", remote).Bool("by_peer", r.ByPeer).Str("reason", r.Text).Msg("connection refused")
	})
}

// lineLimit lets each line of a share through once, and at most maxLines different ones, in each span of logEvery.
type lineLimit struct {
	mu      sync.Mutex
	began   time.Time
	written map[share]map[string]struct{}
}

func (l *lineLimit) allow(of share, line string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written == nil || now.Sub(l.began) >= logEvery {
		l.began, l.written = now, make(map[share]map[string]struct{})
	}
	if l.written[of] == nil {
		if len(l.written) >= maxShares {
			of = strangers
		}
		if l.written[of] == nil {
			l.written[of] = make(map[string]struct{})
		}
	}
	lines := l.written[of]
	if _, again := lines[line]; again || len(lines) >= maxLines {
		return false
	}
	lines[line] = struct{}{}
	return true
}
