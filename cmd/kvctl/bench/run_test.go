package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/api"
)

func mustRun(t *testing.T, c Config) Result {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A server that takes 1 ms for each request, and answers nothing at all from second 1 to second 2.
func stalls(start time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if at := time.Since(start); at >= time.Second && at < 2*time.Second {
			time.Sleep(2*time.Second - at)
		}
		time.Sleep(time.Millisecond)
		_, _ = io.WriteString(w, "true")
	}
}

// One client at 100/s meets a stall of a second. The hundred requests that were due meanwhile are sent one after the
// other when it is over; the i-th of them has then waited for 1,001 - 10·i + i ms.
func TestOpenLoopShowsTheWaitingOfAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, stalls(time.Now()))
		defer s.stop()
		c := s.config(Put)
		c.Rate, c.Duration = 100, 4*time.Second
		r := mustRun(t, c)
		if r.Ops != 400 || r.Errors != 0 || r.Seconds != 4 || r.OpsPerS != 100 {
			t.Fatalf("%+v", r)
		}
		// 40 of the 400 waited longer than the 90th percentile, 4 longer than the 99th; half did not wait.
		if !near(r.P50, 1) || !near(r.P90, 1001-9*40) || !near(r.P99, 1001-9*4) || !near(r.Max, 1001) {
			t.Errorf("%+v", r.Latency)
		}
	})
}

// The same server and a closed loop: one request shows the stall, and no percentile does. That is the omission.
func TestClosedLoopHidesAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, stalls(time.Now()))
		defer s.stop()
		c := s.config(Put)
		c.Duration = 4 * time.Second
		r := mustRun(t, c)
		if r.Ops < 2990 || r.Ops > 3000 || !near(r.P99, 1) || !near(r.P999, 1) || !near(r.Max, 1001) {
			t.Fatalf("%+v", r)
		}
	})
}

// A rate that the server cannot keep up with: what is left over when the timeout has passed is reported.
func TestOpenLoopReportsWhatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		store.delay = 100 * time.Millisecond
		s := newStub(t, store.ServeHTTP)
		defer s.stop()
		c := s.config(Put)
		c.Rate, c.Duration, c.Warmup, c.Timeout = 50, 10*time.Second, time.Second, 5*time.Second
		r := mustRun(t, c)
		// Ten a second: 16 s are 160, with one more at each end; those due in the warm-up are the first 50.
		if n := r.ErrorsByKind["not sent"]; r.Errors != n || n < 385 || n > 395 {
			t.Fatalf("%+v", r)
		}
		if r.Ops != 100 || r.Max < 12_000 {
			t.Fatalf("%+v", r)
		}
	})
}

func TestOpenLoopKeepsItsRateWithManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, newStore().ServeHTTP)
		defer s.stop()
		c := s.config(Mixed)
		c.Rate, c.Clients, c.Conns, c.Warmup, c.ReadShare, c.Fill = 2000, 10, 10, 500*time.Millisecond, 0.25, true
		r := mustRun(t, c)
		if r.Ops < 1990 || r.Ops > 2000 || r.Errors != 0 || !near(r.Max, 1) {
			t.Fatalf("%+v", r)
		}
		if r.Reads.Ops+r.Writes.Ops != r.Ops || r.Reads.Ops < 400 || r.Reads.Ops > 600 {
			t.Fatalf("reads %+v, writes %+v", r.Reads, r.Writes)
		}
	})
}

func TestClosedLoop(t *testing.T) {
	for _, x := range []struct{ op, mode, query string }{
		{Put, Default, "PUT "}, {Get, Default, "GET "}, {Get, Consistent, "GET consistent"}, {Get, Stale, "GET stale"},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := newStore()
			store.delay = 10 * time.Millisecond
			s := newStub(t, store.ServeHTTP)
			defer s.stop()
			c := s.config(x.op)
			c.Mode, c.Clients, c.Conns, c.Warmup, c.Fill = x.mode, 4, 4, time.Second, x.op == Get
			r := mustRun(t, c)
			// 10 ms each, four clients, one second; the last ones are answered when the window has just closed.
			if r.Ops < 390 || r.Ops > 400 || r.Errors != 0 || !near(r.P50, 10) || !near(r.Max, 10) {
				t.Fatalf("%s %s: %+v", x.op, x.mode, r)
			}
			if len(store.index) != c.Keys || store.index["b/00000000"] == 0 || store.index["b/00000009"] == 0 {
				t.Errorf("keys: %v", store.index)
			}
			if len(store.sizes) != 1 || store.sizes[c.ValueSize] == 0 {
				t.Errorf("sizes of values: %v", store.sizes)
			}
			if store.methods[x.query] < 790 { // the warm-up's are not counted
				t.Errorf("requests: %v", store.methods)
			}
		})
	}
}

func TestLargeValuesAreSentWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		store.delay = 100 * time.Millisecond
		s := newStub(t, store.ServeHTTP)
		defer s.stop()
		c := s.config(Put)
		c.ValueSize = 300 << 10
		if r := mustRun(t, c); r.Ops == 0 || r.Errors != 0 || len(store.sizes) != 1 || store.sizes[300<<10] == 0 {
			t.Fatalf("%+v, %v", r, store.sizes)
		}
	})
}

// Without a fill, the first write of a key creates it; with another writer, a client looks again and goes on.
func TestCAS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		meddle := 0
		s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
			if meddle++; meddle%100 == 0 {
				store.mu.Lock()
				for k := range store.index {
					store.revision++
					store.index[k] = store.revision
				}
				store.mu.Unlock()
			}
			store.ServeHTTP(w, r)
		})
		defer s.stop()
		r := mustRun(t, s.config(CAS))
		if n := r.ErrorsByKind["condition failed"]; n < 50 || n > 110 || n != r.Errors {
			t.Fatalf("%+v", r)
		}
		if r.Ops < 800 || r.Mode != "" {
			t.Fatalf("%+v", r)
		}
	})
}

func TestClientsShareConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		store.delay = 10 * time.Millisecond
		s := newStub(t, store.ServeHTTP)
		defer s.stop()
		c := s.config(Put)
		c.Clients, c.Conns = 12, 3
		r := mustRun(t, c)
		if s.most != 3 || s.dials != 3 {
			t.Errorf("%d connections at once, %d dialled", s.most, s.dials)
		}
		if r.Ops < 290 || r.Ops > 300 || !near(r.P50, 40) { // three at a time, so a client waits for three others
			t.Errorf("%+v", r)
		}
	})
}

func TestErrorsByKind(t *testing.T) {
	for code, word := range map[api.Code]string{api.CodeNotFound: "not found", api.CodeNotApplied: "not applied", api.CodeOverloaded: "not applied",
		api.CodeUnknown: "unknown", api.CodeNoSpace: "no space", api.CodeTooLarge: "too large", api.CodeInvalid: "invalid",
		api.CodeForbidden: "forbidden", "": "other status", "no-such-code": "other status"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(10 * time.Millisecond)
				if code != "" {
					w.Header().Set(api.HeaderError, string(code))
				}
				w.WriteHeader(503) // the code decides
			})
			defer s.stop()
			r := mustRun(t, s.config(Get))
			if r.Ops != 0 || r.ErrorsByKind[word] != 100 || r.Errors != 100 || r.Max != 0 || r.Seconds != 1 {
				t.Errorf("%s: %+v", code, r)
			}
		})
	}
}

func TestTimeoutsAndBrokenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		c := s.config(Get)
		c.Timeout = 100 * time.Millisecond
		r := mustRun(t, c)
		if n := r.ErrorsByKind["timeout"]; n < 9 || n > 13 || n != r.Errors || s.dials < int(n) {
			t.Errorf("%+v, %d dials", r, s.dials)
		}
		s.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
		defer s.stop()
		if r := mustRun(t, s.config(Get)); r.ErrorsByKind["connection lost"] != 100 || r.Errors != 100 {
			t.Errorf("%+v", r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, nil)
		s.stop()
		if r := mustRun(t, s.config(Get)); r.ErrorsByKind["connection refused"] != 100 || r.Errors != 100 {
			t.Errorf("%+v", r)
		}
	})
}

// A client whose node is gone goes to the next one.
func TestClientsLeaveADeadNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, newStore().ServeHTTP)
		defer s.stop()
		c := s.config(Put)
		c.Endpoints = []string{"http://dead:1", "http://stub:1"}
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "dead:1" {
				return nil, errors.New("refused")
			}
			return dial(ctx, network, address)
		}
		if r := mustRun(t, c); r.Errors != 1 || r.Ops < 980 {
			t.Errorf("%+v", r)
		}
	})
}

func TestInterrupted(t *testing.T) {
	for _, x := range []struct {
		after time.Duration
		rate  float64
		early bool
	}{
		{500 * time.Millisecond, 0, true}, {3 * time.Second, 0, false}, {3 * time.Second, 1000, false}, {3 * time.Second, 0.1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStub(t, newStore().ServeHTTP)
			defer s.stop()
			c := s.config(Put)
			c.Warmup, c.Duration, c.Rate = time.Second, time.Hour, x.rate
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(x.after, cancel)
			start := time.Now()
			r, err := Run(ctx, c)
			if time.Since(start) > x.after+sleepStep {
				t.Errorf("ended after %v", time.Since(start))
			}
			if x.early {
				if !errors.Is(err, ErrEarly) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !r.Interrupted || r.Seconds < 2 || r.Seconds > 2.1 || r.Errors != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if x.rate != 0.1 && (r.Ops < 1900 || r.Ops > 2001) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestInterruptedWhileARequestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Millisecond)
			if n.Add(1) > 500 {
				_, _ = io.Copy(io.Discard, r.Body) // from here on the server notices that the client goes
				<-r.Context().Done()
			}
			_, _ = io.WriteString(w, "true")
		})
		defer s.stop()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		c := s.config(Put)
		c.Duration = time.Minute
		start := time.Now()
		r, err := Run(ctx, c)
		if err != nil || !r.Interrupted || r.Ops != 500 || r.Errors != 0 || time.Since(start) != 2*time.Second {
			t.Fatalf("%+v, %v after %v", r, err, time.Since(start))
		}
	})
}

func TestFillGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub(t, func(w http.ResponseWriter, r *http.Request) { refuse(w, 413, api.CodeTooLarge) })
		defer s.stop()
		c := s.config(Get)
		c.Fill = true
		if _, err := Run(t.Context(), c); err == nil || errors.Is(err, ErrEarly) {
			t.Fatal(err)
		}
	})
}

func TestWatchIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		store.delay = 50 * time.Millisecond
		s := newStub(t, store.ServeHTTP)
		defer s.stop()
		c := s.config(Put)
		c.Warmup, c.Fill, c.Keys = time.Second, true, 1000 // written by 64 at once
		stages := map[Stage]int{}
		var last Progress
		c.Watch = func(p Progress) { stages[p.Stage]++; last = p }
		r := mustRun(t, c)
		if stages[Filling] < 2 || stages[Warming] < 3 || stages[Measuring] < 4 || last.Ops != r.Ops {
			t.Fatalf("%v, %+v", stages, last)
		}
	})
}
