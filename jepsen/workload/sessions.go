package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tenure/api"
	"tenure/jepsen/history"
)

const (
	otherTTL   = 10 * time.Second // of the session that takes over: it need not be renewed
	lifePoll   = 20 * time.Millisecond
	statusPoll = 50 * time.Millisecond
	lifeEnd    = 10 * time.Second // after which a client no longer waits for what must come
)

// sessions makes each client create sessions, renew them for a while, and then release their locks, destroy them or
// leave them to expire. Another session takes their locks as soon as it can. One more client follows all changes, and
// another records the masterships.
func sessions(ctx context.Context, cfg Config, rec *history.Recorder) error {
	watching, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	w, err := newWorker(cfg, rec, cfg.Clients+1)
	if err != nil {
		return err
	}
	wg.Go(func() {
		defer w.close()
		w.follow(ctx, watching, "", &finish{})
	})
	masters := &masterships{rec: rec, client: cfg.Clients + 2}
	for _, e := range cfg.Endpoints {
		r := newRaw([]string{e})
		if err := r.secure(cfg.TLS); err != nil {
			return err
		}
		wg.Go(func() { masters.poll(watching, r) })
	}
	lives := make([]int, cfg.Clients)
	err = each(ctx, cfg, rec, func(w *worker) {
		lives[w.id]++
		w.sessionLife(ctx, fmt.Sprintf("session/%d/%d", w.id, lives[w.id]))
	})
	return err
}

// sessionLife is the life of a session that locks a key, and of another one that locks it afterwards.
func (w *worker) sessionLife(ctx context.Context, key string) {
	ttl := []time.Duration{300 * time.Millisecond, 600 * time.Millisecond}[w.gen.IntN(2)]
	delay := []time.Duration{0, 500 * time.Millisecond, time.Second}[w.gen.IntN(3)]
	s := w.sessions.create(ttl, delay, w.gen.IntN(2) == 0)
	other := w.sessions.create(otherTTL, 0, true)
	if s.Outcome != history.OK || other.Outcome != history.OK {
		return
	}
	defer w.sessions.destroy(other)
	if a := w.sessions.acquire(key, w.gen.value(), s); a.Outcome != history.OK || !a.Matched {
		return
	}
	for range w.gen.IntN(4) {
		w.gen.rest(ttl)
		if w.sessions.renew(s).Absent {
			break
		}
	}
	switch p := w.gen.IntN(10); {
	case p < 3:
		if r := w.sessions.release(key, w.gen.value(), s); r.Done() {
			w.sessions.acquire(key, w.gen.value(), other)
		}
		w.sessions.destroy(s)
		return
	case p < 6:
		w.sessions.destroy(s)
	default:
		w.awaitEnd(ctx, key, s)
	}
	for begin := time.Now(); time.Since(begin) < lifeEnd && ctx.Err() == nil; time.Sleep(lifePoll) {
		if a := w.sessions.acquire(key, w.gen.value(), other); a.Outcome != history.OK || a.Matched || a.Absent {
			return
		}
	}
}

// awaitEnd reads the session and its key until it has ended.
func (w *worker) awaitEnd(ctx context.Context, key string, s history.Op) {
	for begin := time.Now(); time.Since(begin) < lifeEnd && ctx.Err() == nil; time.Sleep(lifePoll) {
		if op := w.sessions.info(s); op.Outcome == history.OK && op.Absent {
			w.keys.look(key)
			return
		}
		if op := w.keys.look(key); op.Outcome == history.OK && op.Session != s.Session {
			w.sessions.info(s)
			return
		}
	}
}

// masterships records each mastership when a status first shows it.
type masterships struct {
	rec    *history.Recorder
	client int
	mu     sync.Mutex
	epoch  uint64
}

// poll reads the status of one node again and again.
func (s *masterships) poll(ctx context.Context, r *raw) {
	defer r.close()
	for ; ctx.Err() == nil; time.Sleep(statusPoll) {
		call := s.rec.Now()
		a, err := r.once(ctx, http.MethodGet, r.endpoints[0]+api.PathStatus, nil)
		var said struct {
			Role  string
			Epoch uint64
		}
		if err != nil || json.Unmarshal(a.body, &said) != nil || said.Role != "master" {
			continue
		}
		s.mu.Lock()
		if said.Epoch > s.epoch {
			s.epoch = said.Epoch
			s.rec.Add(history.Op{
				Client: s.client, Kind: history.Master, Result: said.Epoch, Outcome: history.OK,
				Call: call, Return: s.rec.Now(),
			})
		}
		s.mu.Unlock()
	}
}
