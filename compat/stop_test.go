package compat

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"tenure/jepsen/cluster"
)

// balancer passes each new connection on to the node that it was last told of, as a load balancer does that goes by
// /health/ready.
type balancer struct {
	net.Listener
	to atomic.Pointer[cluster.Node]
}

func balance(t *testing.T, to *cluster.Node) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	b := &balancer{Listener: l}
	b.to.Store(to)
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			all.Go(func() { b.pass(c) })
		}
	}()
	return b
}

func (b *balancer) pass(c net.Conn) {
	defer c.Close()
	n, err := net.Dial("tcp", b.to.Load().Client)
	if err != nil {
		return
	}
	defer n.Close()
	go func() {
		_, _ = io.Copy(n, c)
		n.Close()
	}()
	_, _ = io.Copy(c, n)
}

// TestLocksOutliveAStop holds a lock through a balancer, with the library's own monitor and no retries, and stops the
// node behind it in order, after the balancer sends new connections to another one. The monitor's query ends with the
// present index, and the next one goes to the other node.
func TestLocksOutliveAStop(t *testing.T) {
	c := start(t)
	master, others := roles(t, c)
	for _, stopped := range []*cluster.Node{others[0], master} {
		b := balance(t, stopped)
		holder, err := api.NewClient(&api.Config{Address: b.Addr().String()})
		must(t, err)
		lock, err := holder.LockKey("service/stop")
		must(t, err)
		lost, err := lock.Lock(nil)
		must(t, err)
		time.Sleep(time.Second) // the monitor asks only now
		b.to.Store(others[1])
		must(t, stopped.Terminate(30*time.Second))
		select {
		case <-lost:
			t.Errorf("the lock is lost by the stop of node %d", stopped.ID)
		case <-time.After(2 * time.Second):
		}
		must(t, stopped.Start())
		must(t, c.WaitReady(within(t, startFor), stopped))
		if err := lock.Unlock(); err != nil {
			t.Error(err)
		}
	}
}
