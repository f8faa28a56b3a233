package kv

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// guarded is a MemStateDB under a lock, as a Source must be safe for concurrent use.
type guarded struct {
	mu      sync.Mutex
	stateDB *MemStateDB
}

func (g *guarded) View() (StateDB, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stateDB.View()
}

func (g *guarded) Loaded() (uint64, []byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stateDB.Loaded()
}

func (g *guarded) merge(f *Checkpoint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stateDB.Merge(f)
}

// Readers under a read lock, snapshots used without any, and a checkpoint encoded on its own goroutine, beside a
// writer. The race detector watches; every snapshot must also be of one moment: all its keys have the same value.
func TestReadersBesideTheWriter(t *testing.T) {
	src := &guarded{stateDB: NewMemStateDB()}
	s, err := Open(src, small)
	if err != nil {
		t.Fatal(err)
	}
	const keys, rounds = 150, 200 // enough for inner nodes
	var mu sync.RWMutex
	var readers, checkpointer sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() { readUntil(t, s, &mu, stop) })
	}
	for round := range rounds {
		var batch []byte
		for k := range keys {
			c := set(fmt.Sprint("k", k), fmt.Sprint(round))
			if k%10 == 0 {
				c = c.keyed(fmt.Sprint(round, "/", k), s.Revision())
			}
			batch = AppendBatch(batch, EncodeCommand(&c))
		}
		id := sessionID(round % 10)
		lock := acquire("k0", id)
		lock.Value, lock.TTL = []byte(fmt.Sprint(round)), time.Hour
		for _, c := range []Command{create(Session{ID: id}), lock, set("d", ""), del("d"),
			transaction(set("d", ""), del("d"), set("k1", "no").at(0)), destroy(id)} {
			batch = AppendBatch(batch, EncodeCommand(&c))
		}
		mu.Lock()
		_, err := s.Apply(s.Applied()+1, batch)
		f := s.Freeze()
		if f == nil {
			s.FreezeNext()
		}
		mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			checkpointer.Go(func() {
				for f != nil {
					src.merge(f.Checkpoint())
					mu.Lock()
					if err := s.Checkpointed(); err != nil {
						t.Error(err)
					}
					f = s.checkpoint.frozen
					mu.Unlock()
				}
			})
		}
	}
	close(stop)
	readers.Wait()
	checkpointer.Wait()
}

func readUntil(t *testing.T, s *State, mu *sync.RWMutex, stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		mu.RLock()
		_, _, err := s.Get(fmt.Sprint("k", i%200))
		s.TableBytes()
		mu.RUnlock()
		mu.Lock()
		v, verr := s.Snapshot()
		mu.Unlock()
		if err != nil || verr != nil {
			t.Error(err, verr)
			return
		}
		values := map[string]bool{}
		v.Sessions("", func(s Session) bool { return s.ID != "" })
		v.Deleted("d")
		if err := v.Walk(Range{Reverse: i%2 == 0},
			func(e Entry) bool { values[string(e.Value)] = true; return true }); err != nil || len(values) > 1 {
			t.Errorf("one snapshot has values of %d rounds, %v", len(values), err)
			return
		}
		v.Close()
	}
}
