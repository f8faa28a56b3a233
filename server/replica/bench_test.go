package replica

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
)

// solo is the log part of a cluster of one that is master for ever, on a disk that costs nothing.
type solo struct {
	b      *testing.B
	round  *LogRound
	events []Event
	pub    Published
	now    time.Duration
}

func newSolo(b *testing.B) *solo {
	cfg := testConfig(ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}, quorum.Of(1))
	cfg.Core.CacheBytes, cfg.Core.WindowBytes, cfg.Core.WindowEntries = 1<<20, 1<<24, 1024
	cfg.MaxBatchBytes, cfg.ApplyBytes, cfg.MaxQueued = 1<<20, 1<<20, 1024
	cfg.CheckpointBytes, cfg.CheckpointLogBytes = 1<<40, 1<<60
	disk := newDisk()
	state, err := kv.Open(disk.stateDB, kv.DefaultLimits)
	if err != nil {
		b.Fatal(err)
	}
	core, err := multipaxos.New(cfg.Core, testBase(quorum.Of(1)), disk.durable, disk)
	if err != nil {
		b.Fatal(err)
	}
	l, err := NewLog(cfg, core, state)
	if err != nil {
		b.Fatal(err)
	}
	s := &solo{b: b, round: NewLogRound(l), now: time.Second,
		pub: Published{}.WithLease(elector.State{Tenure: 1, Deadline: time.Hour})}
	for range 10 {
		s.step()
	}
	if _, ok := s.pub.Begin(); !ok {
		b.Fatal("not the master")
	}
	return s
}

func (s *solo) must(err error) {
	if err != nil {
		s.b.Fatal(err)
	}
}

// step is one round of the runner; it returns the number of replies.
func (s *solo) step() (replies int) {
	persisted := uint64(0)
	for {
		e, err := s.round.Next()
		s.must(err)
		out := s.round.Output()
		switch e {
		case effect.Take:
			for i := range s.events {
				s.round.Add(&s.events[i])
			}
		case effect.Clock:
			s.round.Read(s.now, s.pub)
		case effect.Apply:
			s.must(s.round.Locked())
		case effect.Persist:
			persisted = out.Persists[len(out.Persists)-1].Seq
		case effect.Ready:
			s.pub = s.pub.WithReady(out.Ready, out.Epoch)
		case effect.Reply:
			for _, r := range out.Replies {
				if r.Outcome != Done {
					s.b.Fatalf("%+v", r)
				}
			}
			replies += len(out.Replies)
		case effect.Done:
			if s.events = s.events[:0]; persisted != 0 {
				s.events = append(s.events, Event{Persisted: persisted})
			}
			return replies
		}
	}
}

// BenchmarkWrites is so many puts of 256 bytes, encoded, that wait together: gathered into one slot, chosen, applied
// and answered by a node that is alone. What other nodes, sockets and the disk cost is elsewhere.
func BenchmarkWrites(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("together=%d", n), func(b *testing.B) {
			s := newSolo(b)
			commands := make([][]byte, 1024)
			for i := range commands {
				c := kv.Command{Op: kv.OpSet, Key: fmt.Sprintf("bench/%08d", i), Value: make([]byte, 256)}
				commands[i] = kv.EncodeCommand(&c)
			}
			requests := make([]Write, 1024)
			id := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				for range n {
					id++
					requests[id%1024] = Write{ID: id, Command: commands[id%1024], Until: time.Hour}
					s.events = append(s.events, Event{Write: &requests[id%1024]})
				}
				answered := 0
				for tries := 0; answered < n; tries++ {
					if tries == 10 {
						b.Fatalf("%d of %d answered", answered, n)
					}
					answered += s.step()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/write")
		})
	}
}
