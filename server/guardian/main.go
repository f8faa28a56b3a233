package guardian

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"tenure/internal/certs"
	"tenure/lease"
	"tenure/server/wire"
)

const (
	dialRetry   = 20 * time.Millisecond
	writeWithin = 200 * time.Millisecond
)

// SpeaksFor is how long after the death of its server a guardian has ended at the latest.
const SpeaksFor = lease.CrashReleaseFor + writeWithin

// speak tells the peers that the owner has died, each from a goroutine of its own, for as long as P7 has something to
// say.
func speak(ctx context.Context, plan *Plan, counters []uint64) {
	ctx, cancel := context.WithTimeout(ctx, SpeaksFor)
	defer cancel()
	start := time.Now()
	var g lease.Guardian
	g.Died(0)
	d, err := newDialler(plan.TLS, plan.Revoked)
	if err != nil {
		return // without a certificate no peer listens, and without the lists somebody else may
	}
	r := wire.Release{Cluster: plan.Cluster, Store: plan.Store, Owner: plan.Owner, Counters: counters}
	var all sync.WaitGroup
	for _, p := range plan.Peers {
		all.Go(func() { d.speakTo(ctx, p, r, g, start) })
	}
	all.Wait()
}

// speakTo says r to one peer at every round of g; a connection that fails is made anew.
func (d dialler) speakTo(ctx context.Context, p Peer, r wire.Release, g lease.Guardian, start time.Time) {
	frame := wire.AppendFrame(nil, wire.EncodeHandshake(&wire.ReleaseMsg{To: p.Node, Release: r}))
	var nc net.Conn
	defer func() {
		if nc != nil {
			_ = nc.Close()
		}
	}()
	for {
		at, more := g.Next()
		if !more || !sleep(ctx, at-time.Since(start)) {
			return
		}
		if !g.Due(time.Since(start)) {
			continue
		}
		g.Sent()
		for {
			if nc == nil {
				nc = d.dial(ctx, p)
			}
			if nc == nil {
				if !sleep(ctx, dialRetry) {
					return
				}
				continue
			}
			_ = nc.SetWriteDeadline(time.Now().Add(writeWithin))
			if _, err := nc.Write(frame); err == nil {
				break
			}
			_ = nc.Close()
			nc = nil
		}
	}
}

// dialler connects to peers.
type dialler struct {
	files *certs.Files // nil without TLS
}

func newDialler(p certs.Paths, revoked string) (dialler, error) {
	if p.IsZero() {
		return dialler{}, nil
	}
	files, err := certs.Load(p, certs.CheckNode)
	if err == nil && revoked != "" {
		_, err = certs.LoadRevocations(revoked, files)
	}
	return dialler{files}, err
}

// dial returns nil if the peer cannot be reached or, with TLS, is another node. The next try follows soon.
func (d dialler) dial(ctx context.Context, p Peer) net.Conn {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Addr)
	if err != nil {
		return nil
	}
	if d.files == nil {
		return nc
	}
	secure := tls.Client(nc, d.files.PeerDialler())
	if err := secure.HandshakeContext(ctx); err == nil {
		if id, err := d.files.CheckPeer(secure.ConnectionState(), time.Now()); err == nil && id.Name == p.Name {
			return secure
		}
	}
	_ = nc.Close()
	return nil
}

// sleep waits for d; false if the time is over.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
