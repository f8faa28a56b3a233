package workload

import (
	"context"
	"sync"

	"tenure/jepsen/history"
)

// worker is one client at work. A workload is a function that has it do one thing after another.
type worker struct {
	id       int
	cfg      Config
	gen      *generator
	conn     *conn
	keys     *keyOps
	txns     txnOps
	sessions sessionOps
	leases   leaseOps
	streams  streamOps
}

func newWorker(cfg Config, rec *history.Recorder, id int) (*worker, error) {
	c, err := newConn(cfg, rec, id)
	if err != nil {
		return nil, err
	}
	return &worker{
		id: id, cfg: cfg, gen: newGenerator(cfg.Seed, id), conn: c,
		keys:     &keyOps{conn: c, consistentOnly: cfg.ConsistentOnly, seen: map[string]uint64{}},
		txns:     txnOps{c},
		sessions: sessionOps{c},
		leases:   leaseOps{c, LeaseConn{c.raw}},
		streams:  streamOps{c},
	}, nil
}

func (w *worker) close() { w.conn.close() }

// each makes cfg.Clients workers call once again and again until ctx ends.
func each(ctx context.Context, cfg Config, rec *history.Recorder, once func(*worker)) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range cfg.Clients {
		w, err := newWorker(cfg, rec, i)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer w.close()
			for ctx.Err() == nil {
				once(w)
			}
		})
	}
	return nil
}
