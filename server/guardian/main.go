package guardian

import (
	"context"
	"net"
	"sync"
	"time"

	"tenure/lease"
	"tenure/server/wire"
)

const (
	dialRetry   = 20 * time.Millisecond
	writeWithin = 200 * time.Millisecond
)

// speak tells the peers that the owner has died, each from a goroutine of its own, for as long as P7 has something to
// say.
func speak(ctx context.Context, plan *Plan, counters []uint64) {
	ctx, cancel := context.WithTimeout(ctx, lease.CrashReleaseFor+writeWithin)
	defer cancel()
	start := time.Now()
	var g lease.Guardian
	g.Died(0)
	r := wire.Release{Cluster: plan.Cluster, Store: plan.Store, Owner: plan.Owner, Counters: counters}
	var all sync.WaitGroup
	for _, p := range plan.Peers {
		all.Go(func() { speakTo(ctx, p, r, g, start) })
	}
	all.Wait()
}

// speakTo says r to one peer at every round of g; a connection that fails is made anew.
func speakTo(ctx context.Context, p Peer, r wire.Release, g lease.Guardian, start time.Time) {
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
				nc = dial(ctx, p.Addr)
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

func dial(ctx context.Context, addr string) net.Conn {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil // there is nobody to tell, and the next try is near
	}
	return nc
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
