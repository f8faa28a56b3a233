package bench

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/api"
)

// cluster is three nodes of one store that name a master.
type cluster struct {
	store  *store
	master atomic.Pointer[string]
	down   atomic.Pointer[string] // the address of a node that refuses connections
	stubs  map[string]*stub
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{store: newStore(), stubs: map[string]*stub{}}
	for _, host := range []string{"a:1", "b:1", "c:1"} {
		c.stubs[host] = newStub(t, func(w http.ResponseWriter, r *http.Request) {
			if m := c.master.Load(); m != nil {
				w.Header().Set(api.HeaderMaster, *m)
			}
			c.store.ServeHTTP(w, r)
		})
	}
	return c
}

func (c *cluster) stop() {
	for _, s := range c.stubs {
		s.stop()
	}
}

func (c *cluster) config(op string) Config {
	cfg := c.stubs["a:1"].config(op)
	cfg.Endpoints, cfg.Members = []string{"http://a:1", "http://b:1", "http://c:1"}, []uint64{1, 2, 3}
	cfg.Clients, cfg.Conns, cfg.Warmup, cfg.Fill = 3, 3, 100*time.Millisecond, true
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if d := c.down.Load(); d != nil && *d == address {
			return nil, errors.New("refused")
		}
		return c.stubs[address].dial(ctx, network, address)
	}
	return cfg
}

// at returns which of the nodes 1 to 3 have answered reads and writes.
func at(r Result) (reads, writes [4]bool) {
	for _, e := range r.Endpoints {
		reads[e.Node], writes[e.Node] = e.Reads > 0, e.Writes > 0
	}
	return reads, writes
}

// What goes to the master goes there once it was named, and the result says who has answered.
func TestNear(t *testing.T) {
	all, second, none := [4]bool{1: true, 2: true, 3: true}, [4]bool{2: true}, [4]bool{}
	for _, x := range []struct {
		what          string
		change        func(c *Config)
		master        string
		reads, writes [4]bool
	}{
		{"writes", func(c *Config) {}, "2", all, second},
		{"all", func(c *Config) { c.Near = NearAll }, "2", second, second},
		{"stale reads stay", func(c *Config) { c.Near, c.Mode = NearAll, Stale }, "2", all, second},
		{"none", func(c *Config) { c.Near = NearNone }, "2", all, all},
		{"rubbish", func(c *Config) {}, "two", all, all},
		{"no member", func(c *Config) {}, "9", all, all},
		{"numbers not known", func(c *Config) { c.Members = nil }, "2", [4]bool{0: true}, [4]bool{0: true}},
		{"one endpoint", func(c *Config) { c.Endpoints, c.Members = c.Endpoints[:1], c.Members[:1] }, "2",
			[4]bool{1: true}, [4]bool{1: true}},
		{"only writes", func(c *Config) { c.Op = Put }, "2", none, second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			defer c.stop()
			c.master.Store(&x.master)
			cfg := c.config(Mixed)
			x.change(&cfg)
			r := mustRun(t, cfg)
			if reads, writes := at(r); reads != x.reads || writes != x.writes || r.Errors != 0 || r.Near != cfg.Near {
				t.Errorf("%s: %+v", x.what, r)
			}
			sum := uint64(0)
			for _, e := range r.Endpoints {
				sum += e.Reads + e.Writes
				if e.Master != (x.master == "2" && e.Node == 2) {
					t.Errorf("%s: %+v", x.what, e)
				}
			}
			if sum != r.Ops {
				t.Errorf("%s: %d of %d operations have an endpoint", x.what, sum, r.Ops)
			}
		})
	}
}

// A master that is gone costs each client one request, although the others still name it.
func TestAMasterThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.stop()
		second, gone := "2", "b:1"
		c.master.Store(&second)
		c.down.Store(&gone)
		cfg := c.config(Put)
		cfg.Fill, cfg.Warmup = false, 0
		r := mustRun(t, cfg)
		if _, writes := at(r); writes != [4]bool{1: true, 3: true} || r.Errors > 3 || r.Ops < 2900 {
			t.Errorf("%+v", r)
		}
	})
}
