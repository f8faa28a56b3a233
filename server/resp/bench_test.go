package resp

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/service"
	"tenure/server/slow"
)

// silent is a node that answers at once that every key is absent and every write done, so that benchmarks measure
// only this package.
type silent struct {
	service.Node
	steps kv.Result
}

func (s *silent) Serves() error { return nil }
func (s *silent) Write(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	return s.steps, nil
}
func (s *silent) WriteDrawn(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	return s.steps, nil
}
func (s *silent) GetMany(_ time.Duration, _ service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	for i := range keys {
		each(i, kv.Entry{})
	}
	return 1, nil
}
func (s *silent) Snapshot(time.Duration, service.Mode) (*kv.Snapshot, service.ReadMeta, error) {
	return nil, service.ReadMeta{}, service.ErrNotApplied
}
func (s *silent) KeyCount() (int, bool)                                { return 0, false }
func (s *silent) Remaining(kv.TimedKind, string) (time.Duration, bool) { return 0, false }

// nowhere is a connection that sends nothing and takes everything.
type nowhere struct{ net.Conn }

func (nowhere) Write(b []byte) (int, error)      { return len(b), nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }
func (nowhere) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (nowhere) Close() error                     { return io.EOF }

// BenchmarkBatch is a pipeline from its parsed commands to its replies, with and without tokens.
func BenchmarkBatch(b *testing.B) {
	for _, x := range []struct {
		name, command string
		n             int
	}{{"GET", "GET bench/kkkkkkkkkk", 100}, {"SET", "SET bench/kkkkkkkkkk v", 16}} {
		for _, tokens := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s of %d, tokens=%v", x.name, x.n, tokens), func(b *testing.B) {
				g := newGuarded(b)
				g.may("app", `key_prefix "bench/" { policy = "write" }`)
				cfg := g.cfg
				cfg.Audit = nil
				if !tokens {
					cfg.Access = nil
				}
				parts := slices.Repeat([]kv.Command{{Op: kv.OpSet, Key: "k"}}, x.n)
				done, err := g.fake.Write(0, kv.Command{Op: kv.OpSequence, Parts: parts}, nil)
				if err != nil {
					b.Fatal(err)
				}
				server, err := New(cfg, service.FrontOf(&silent{steps: done}))
				if err != nil {
					b.Fatal(err)
				}
				c := newConn(nowhere{}, server, &admission.Conn{})
				c.to.forget()
				if tokens {
					if err := c.to.login("app"); err != nil {
						b.Fatal(err)
					}
				}
				var command [][]byte
				for _, word := range strings.Fields(x.command) {
					command = append(command, []byte(word))
				}
				b.ReportAllocs()
				for b.Loop() {
					c.arrived.begun = true
					for range x.n {
						c.run(command)
					}
					c.execute()
					c.endArrival()
					_ = c.out.send()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(x.n), "ns/command")
			})
		}
	}
}
