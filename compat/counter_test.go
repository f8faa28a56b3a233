package compat

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/consul/api"

	"tenure/jepsen/cluster"
)

// transfer asks the master to hand over to another node.
func transfer(t *testing.T, master, to *cluster.Node) {
	t.Helper()
	rsp, err := http.Post("http://"+master.Client+"/v1/master/transfer", "application/json", bytes.NewBufferString(fmt.Sprintf(`{"Node":%d}`, to.ID)))
	must(t, err)
	must(t, rsp.Body.Close())
}

// TestCountingOutlivesTheMaster counts by compare-and-set from two clients while the master is killed three times. The
// count includes all acknowledged increments, and otherwise at most those of unknown outcome.
func TestCountingOutlivesTheMaster(t *testing.T) {
	c := start(t)
	_, others := roles(t, c)
	stop := make(chan struct{})
	tallies := make([]tally, len(others))
	var group sync.WaitGroup
	for i, n := range others {
		kv := dial(t, n).KV()
		group.Go(func() { tallies[i].run(kv, stop) })
	}
	acked := func() (n uint64) {
		for i := range tallies {
			n += tallies[i].acked.Load()
		}
		return n
	}
	const each = 50 // acknowledged under each master
	for round := range 4 {
		eventually(t, func() bool { return acked() >= uint64(each*(round+1)) })
		if round < 3 {
			killOnly(t, c, others)
		}
	}
	close(stop)
	group.Wait()
	p, _, err := dial(t, others[0]).KV().Get("counter", nil)
	must(t, err)
	count, err := strconv.ParseUint(string(p.Value), 10, 64)
	must(t, err)
	var unknown uint64
	for i := range tallies {
		unknown += tallies[i].unknown
	}
	t.Logf("count %d: %d acknowledged, %d unknown", count, acked(), unknown)
	if count < acked() || count > acked()+unknown {
		t.Errorf("the count is %d, with %d acknowledged and %d unknown", count, acked(), unknown)
	}
}

type tally struct {
	acked   atomic.Uint64
	unknown uint64
}

// run adds 1 again and again. An answer of 503 says that nothing was changed; any other error leaves that open.
func (y *tally) run(kv *api.KV, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		p, _, err := kv.Get("counter", nil)
		if err != nil {
			continue
		}
		if p == nil {
			p = &api.KVPair{Key: "counter"}
		}
		n, _ := strconv.Atoi(string(p.Value))
		p.Value = []byte(strconv.Itoa(n + 1))
		done, _, err := kv.CAS(p, nil)
		var status api.StatusError
		switch {
		case err == nil && done:
			y.acked.Add(1)
		case err != nil && !(errors.As(err, &status) && status.Code == http.StatusServiceUnavailable):
			y.unknown++
		}
	}
}
