package resp

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/slow"
	"tenure/server/web"
)

// silent is a Backend that answers at once that every key is absent and every write done, so that benchmarks measure
// only this package.
type silent struct {
	Cluster
	Leases
	steps kv.Result
}

func (s *silent) Write(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	return s.steps, nil
}
func (s *silent) WriteDrawn(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	return s.steps, nil
}
func (s *silent) GetMany(_ time.Duration, _ web.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	for i := range keys {
		each(i, kv.Entry{})
	}
	return 1, nil
}
func (s *silent) Snapshot(time.Duration, web.Mode) (*kv.Snapshot, web.ReadMeta, error) {
	return nil, web.ReadMeta{}, web.ErrNotApplied
}
func (s *silent) KeyCount() (int, bool)                                { return 0, false }
func (s *silent) Remaining(kv.TimedKind, string) (time.Duration, bool) { return 0, false }

// nowhere is a connection that sends nothing and takes everything.
type nowhere struct{ net.Conn }

func (nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }
func (nowhere) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (nowhere) Close() error                     { return io.EOF }

// BenchmarkBatchOfReads is a pipeline of 100 reads from its parsed commands to its replies, with and without tokens.
func BenchmarkBatchOfReads(b *testing.B) {
	for _, tokens := range []bool{false, true} {
		b.Run(fmt.Sprintf("tokens=%v", tokens), func(b *testing.B) {
			g := newGuarded(b)
			g.may("app", `key_prefix "bench/" { policy = "write" }`)
			cfg := g.cfg
			cfg.Audit = nil
			if !tokens {
				cfg.Access = nil
			}
			c := newConn(nowhere{}, &cfg, &shared{}, &silent{}, &admission.Conn{})
			c.to.forget()
			if tokens {
				if err := c.to.login("app"); err != nil {
					b.Fatal(err)
				}
			}
			get := [][]byte{[]byte("GET"), []byte("bench/" + strings.Repeat("k", 10))}
			b.ReportAllocs()
			for b.Loop() {
				c.limits.begun = true
				for range 100 {
					c.run(get)
				}
				c.execute()
				c.limits.end()
				_ = c.out.send()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/command")
		})
	}
}
