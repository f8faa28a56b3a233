package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/client/clienttest"
)

// A command of many writes sends them to the master as soon as it knows it; with --only-endpoints nothing goes to
// another address than those given.
func TestOnlyEndpoints(t *testing.T) {
	c := start(t, 2)
	c.SetMaster(2)
	var first, second atomic.Int32
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.Node == 2 {
			second.Add(1)
		} else if r.IsWrite() {
			first.Add(1)
			time.Sleep(5 * time.Millisecond) // so that the client learns during the command
		}
		return clienttest.None
	})
	var in strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&in, `{"key":"k%d","value":"YQ=="}`+"\n", i)
	}
	for _, flags := range [][]string{nil, {"--only-endpoints"}} {
		first.Store(0)
		second.Store(0)
		args := append([]string{"import", "-", "--timeout", "60s", "--endpoints", c.Endpoints()[0]}, flags...)
		if o := kvctl(t, c, in.String(), args...); o.code != exitDone {
			t.Fatalf("%v: %+v", flags, o)
		}
		if first.Load() == 0 || (second.Load() > 0) != (flags == nil) {
			t.Errorf("%v: %d writes at the endpoint, %d requests at the master", flags, first.Load(), second.Load())
		}
	}
}
