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

	redis  *respOps          // nil where no node speaks the Redis protocol
	values map[string]string // last read over it, by key
	base   int64             // a revision that was seen over it
}

func newWorker(cfg Config, rec *history.Recorder, id int) (*worker, error) {
	c, err := newConn(cfg, rec, id)
	if err != nil {
		return nil, err
	}
	w := &worker{
		id: id, cfg: cfg, gen: newGenerator(cfg.Seed, id), conn: c,
		keys:     &keyOps{conn: c, consistentOnly: cfg.ConsistentOnly, seen: map[string]uint64{}},
		txns:     txnOps{c},
		sessions: sessionOps{c},
		leases:   leaseOps{c, LeaseConn{c.raw}},
		streams:  streamOps{c},
	}
	if len(cfg.Redis) > 0 {
		to, err := newResp(cfg, id)
		if err != nil {
			c.close()
			return nil, err
		}
		w.redis, w.values = &respOps{c.recorder, to}, map[string]string{}
	}
	return w, nil
}

func (w *worker) close() {
	w.conn.close()
	if w.redis != nil {
		w.redis.to.close()
	}
}

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
