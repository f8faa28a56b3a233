package server

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tenure/server/runner"
)

// Run returns damage that is met while the node stops: by a round or a reader while mastership is given up, or when the
// loops are told to end.
func TestDamageWhileStoppingIsReported(t *testing.T) {
	errDamaged := errors.New("damaged")
	for name, moment := range map[string]func(r *runners){
		"mastership is given up": func(r *runners) {
			for !r.life.Stopping() {
				time.Sleep(time.Millisecond)
			}
		},
		"the loops end": func(r *runners) { <-r.life.Ended() },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeOn(t, filepath.Join(t.TempDir(), "data"))
			n.cfg.ClientAddr, n.cfg.MaxValueBytes = freeAddr(t), 1<<20
			if err := n.listen(); err != nil {
				t.Fatal(err)
			}
			defer n.ports.close()
			r := n.wire(startRun(t, n, true))
			ctx, stop := context.WithCancel(t.Context())
			r.life.Go([]runner.Loop{func(<-chan struct{}) error {
				moment(r)
				r.life.Fail(errDamaged)
				return nil
			}})
			stop()
			if err := n.serve(ctx, r); !errors.Is(err, errDamaged) {
				t.Errorf("the node ended with %v", err)
			}
		})
	}
}
