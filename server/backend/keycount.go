package backend

import (
	"errors"
	"math"
	"sync"
	"time"

	"tenure/server/runner"
)

const (
	// countEvery is the least time between two counts; countShare bounds the part of the time that is spent counting.
	countEvery = time.Second
	countShare = 100
	// firstCount is how long the first reading waits for the first count.
	firstCount = time.Second
)

// keyCount counts the keys for the metrics and for INFO. The state does not keep a count, and counting reads all keys.
// So only readers before the first count wait, and counting takes at most a hundredth of the time. Safe for concurrent
// use.
type keyCount struct {
	count func() (keys int, err error)

	mu      sync.Mutex
	known   bool
	keys    int
	next    time.Time     // no count begins before
	running chan struct{} // closed when the count under way has ended; nil if there is none
}

// read returns the newest count, or not-a-number if there is none yet, and begins another one if it is time for it.
func (k *keyCount) read() float64 {
	k.mu.Lock()
	if k.running == nil && !time.Now().Before(k.next) {
		k.running = make(chan struct{})
		go k.run(k.running)
	}
	running, known := k.running, k.known
	k.mu.Unlock()
	if !known && running != nil {
		select {
		case <-running:
		case <-time.After(firstCount):
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known {
		return math.NaN()
	}
	return float64(k.keys)
}

func (k *keyCount) run(done chan struct{}) {
	began := time.Now()
	keys, err := k.count()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.known, k.keys = true, keys
	}
	k.next = time.Now().Add(max(countEvery, countShare*time.Since(began)))
	k.running = nil
	close(done)
}

// KeyCount returns how many keys there are, as they were counted a little while ago: the more there are, the less often
// they are counted. known is false if they never were.
func (b *KV) KeyCount() (keys int, known bool) {
	n := b.keys.read()
	return int(n), !math.IsNaN(n)
}

// countKeys counts the keys that are applied here. It ends early, with an error, when the node does.
func (b *KV) countKeys() (keys int, err error) {
	view, _, err := b.cfg.State.Snapshot()
	if err != nil {
		return 0, b.damage(err)
	}
	defer view.Close()
	_, keys, err = view.Newest("", func() error {
		select {
		case <-b.cfg.Lifecycle.Ended():
			return runner.ErrEnded
		default:
			return nil
		}
	})
	if err != nil && !errors.Is(err, runner.ErrEnded) {
		return 0, b.damage(err)
	}
	return keys, err
}
