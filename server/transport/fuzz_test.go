package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ident"
	"tenure/server/wire"
)

// FuzzStranger has whatever comes on the port for peers before anybody has proved who it is: hellos, questions and
// results of the bootstrap, releases, and requests to join. It ends, without a panic, for no more memory than bytes came.
func FuzzStranger(f *testing.F) {
	join, hello := newcomer(), &wire.HelloMsg{Kind: wire.KindLog, To: 2, Hello: honest(1)}
	ask := &wire.AskMsg{From: 1, To: 2, Store: store(1)}
	found := &wire.FoundMsg{Cluster: ident.ClusterID{1}, Membership: members(1, 2)}
	for _, list := range [][]wire.HandshakeMsg{
		{hello}, {hello, &wire.ReadyMsg{}}, {ask}, {ask, found}, {found}, {&join}, {&wire.ReleaseMsg{}}, {&wire.ReadyMsg{}},
	} {
		var in []byte
		for _, m := range list {
			in = wire.AppendFrame(in, wire.EncodeHandshake(m))
		}
		f.Add(in)
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xf0})
	n := &node{hello: honest(2)}
	tr, err := Listen(Config{Self: 2, Addr: "127.0.0.1:0", Log: zerolog.Nop(), Hello: func() wire.Hello { return n.hello },
		Join: func(context.Context, wire.JoinMsg) (wire.JoinedMsg, error) { return wire.JoinedMsg{}, errors.New("no") }})
	if err != nil {
		f.Fatal(err)
	}
	n.Transport = tr
	f.Cleanup(tr.Close)
	n.Serve(n, members(1, 2), nil)
	f.Fuzz(func(t *testing.T, in []byte) {
		there, here := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		go func() {
			_, _ = there.Write(in)
			_ = there.Close()
		}()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = n.answer(newConn(here, 2, time.Now().Add(testTimeout)))
		runtime.ReadMemStats(&after)
		_ = here.Close()
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+64*len(in)); got > most {
			t.Fatalf("%d bytes allocated for %d", got, len(in))
		}
	})
}
