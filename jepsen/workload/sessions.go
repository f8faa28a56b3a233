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

// sessions: each client makes sessions, renews them for a while, and then releases what they hold, destroys them, or
// leaves them to their end; and takes what they held with another session as soon as it can. Beside it somebody follows
// all changes, and the masterships.
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
	sight := &sighting{rec: rec, client: cfg.Clients + 2}
	for _, e := range cfg.Endpoints {
		wg.Go(func() { sight.poll(watching, e) })
	}
	lives := make([]int, cfg.Clients)
	err = each(ctx, cfg, rec, func(w *worker) {
		lives[w.id]++
		w.live(ctx, fmt.Sprintf("session/%d/%d", w.id, lives[w.id]))
	})
	return err
}

// live is the life of one session that locks one key, and of the other one that locks it afterwards.
func (w *worker) live(ctx context.Context, key string) {
	ttl := []time.Duration{300 * time.Millisecond, 600 * time.Millisecond}[w.random.IntN(2)]
	delay := []time.Duration{0, 500 * time.Millisecond, time.Second}[w.random.IntN(3)]
	s := w.createSession(ttl, delay, w.random.IntN(2) == 0)
	other := w.createSession(otherTTL, 0, true)
	if s.Outcome != history.OK || other.Outcome != history.OK {
		return
	}
	defer w.destroy(other)
	if a := w.acquire(key, w.word(), s); a.Outcome != history.OK || !a.Matched {
		return
	}
	for range w.random.IntN(4) {
		w.rest(ttl)
		if w.renew(s).Absent {
			break
		}
	}
	switch p := w.random.IntN(10); {
	case p < 3:
		if r := w.release(key, w.word(), s); r.Done() {
			w.acquire(key, w.word(), other)
		}
		w.destroy(s)
		return
	case p < 6:
		w.destroy(s)
	default:
		w.awaitEnd(ctx, key, s)
	}
	for begin := time.Now(); time.Since(begin) < lifeEnd && ctx.Err() == nil; time.Sleep(lifePoll) {
		if a := w.acquire(key, w.word(), other); a.Outcome != history.OK || a.Matched || a.Absent {
			return
		}
	}
}

// awaitEnd looks at the session, and at what it holds, until it has ended.
func (w *worker) awaitEnd(ctx context.Context, key string, s history.Op) {
	for begin := time.Now(); time.Since(begin) < lifeEnd && ctx.Err() == nil; time.Sleep(lifePoll) {
		if op := w.info(s); op.Outcome == history.OK && op.Absent {
			w.look(key)
			return
		}
		if op := w.look(key); op.Outcome == history.OK && op.Session != s.Session {
			w.info(s)
			return
		}
	}
}

// sighting records each mastership when it is first seen.
type sighting struct {
	rec    *history.Recorder
	client int
	mu     sync.Mutex
	epoch  uint64
}

func (s *sighting) poll(ctx context.Context, endpoint string) {
	r := newRaw([]string{endpoint})
	defer r.close()
	for ; ctx.Err() == nil; time.Sleep(statusPoll) {
		call := s.rec.Now()
		a, err := r.once(ctx, http.MethodGet, endpoint+api.PathStatus, nil)
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
			s.rec.Add(history.Op{Client: s.client, Kind: history.Master, Result: said.Epoch, Outcome: history.OK, Call: call, Return: s.rec.Now()})
		}
		s.mu.Unlock()
	}
}
