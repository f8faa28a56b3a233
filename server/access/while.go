package access

import (
	"context"
	"time"
)

// While returns a context that ends with ctx, or when the request's needs are no longer all allowed. done ends the
// context, and returns why the request is not allowed. Until then no other method of r may be called.
func (r *Request) While(ctx context.Context) (_ context.Context, done func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var denied error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for denied == nil {
			var expires <-chan time.Time
			stop := func() bool { return true }
			if at, ok := r.Expires(); ok {
				t := time.NewTimer(at.Sub(r.decider.cfg.Now()))
				expires, stop = t.C, t.Stop
			}
			select {
			case <-ctx.Done():
				stop()
				return
			case <-r.News():
			case <-expires:
			}
			stop()
			denied = r.Again()
		}
		cancel()
	}()
	return ctx, func() error {
		cancel()
		<-ended
		return denied
	}
}
