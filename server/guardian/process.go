package guardian

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Config says how the guardian is run.
type Config struct {
	// Command runs Main, as in /proc/self/exe guardian. It must name the same program.
	Command []string
	Plan    Plan
	Log     zerolog.Logger
}

// ErrUnsupported: this system has no pidfd.
var ErrUnsupported = errors.New("crash release needs Linux")

// State is how the guardian is.
type State struct {
	PID     int    // 0: none runs
	Problem string // why none runs
	Starts  int
}

// The waits before a guardian that ended is started again, and how long one must have run for the shortest.
const (
	againAfter  = 100 * time.Millisecond
	againAtMost = 30 * time.Second
	steadyAfter = time.Minute
)

// Process is the server's end. Note is for one goroutine; the other methods are safe for concurrent use.
type Process struct {
	cfg   Config
	page  page
	files files
	noted []uint64 // Note's

	mu      sync.Mutex
	child   *child // nil: none runs
	problem string
	starts  int
	closed  chan struct{}
	closing sync.Once
	over    sync.WaitGroup
}

// Start starts the guardian. From then on it speaks for whatever Note has noted, however the server ends. The caller
// must Close. An error says why there can be none; one that does not start is tried again, and State says so.
func Start(cfg Config) (*Process, error) {
	k := &Process{cfg: cfg, closed: make(chan struct{})}
	var err error
	if k.page, k.files, err = makeFiles(); err != nil {
		return nil, err
	}
	if err := k.page.begin(&cfg.Plan); err != nil {
		return nil, errors.Join(err, k.release())
	}
	c := k.start()
	k.over.Go(func() { k.watch(c) })
	return k, nil
}

// Note makes counters those of the ballots that the guardian would release. It costs a few stores to memory, and
// nothing if nothing has changed.
func (k *Process) Note(counters []uint64) {
	if !slices.Equal(k.noted, counters) {
		k.noted = append(k.noted[:0], counters...)
		k.page.note(counters)
	}
}

// Follow has the guardian speak to other peers from now on. It is for one goroutine. An error leaves the peers as they
// were.
func (k *Process) Follow(peers []Peer) error {
	plan := k.cfg.Plan
	plan.Peers = peers
	return k.page.follow(&plan)
}

// State is how the guardian is now.
func (k *Process) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := State{Problem: k.problem, Starts: k.starts}
	if k.child != nil {
		s.PID = k.child.pid()
	}
	return s
}

// Close ends the guardian if nothing is noted. If something is, it is left alone: it speaks when this process has
// ended. Note must not be called any more.
func (k *Process) Close() error {
	var err error
	k.closing.Do(func() {
		close(k.closed)
		if len(k.page.counters()) == 0 {
			k.mu.Lock()
			if k.child != nil {
				k.child.kill()
			}
			k.mu.Unlock()
			k.over.Wait()
			err = k.release()
		}
	})
	return err
}

// start starts one and notes it; nil if it cannot be started.
func (k *Process) start() *child {
	c, err := startChild(k.cfg.Command, k.files)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.problem = fmt.Sprintf("it cannot be started: %v", err)
		return nil
	}
	k.child, k.problem = c, ""
	k.starts++
	select {
	case <-k.closed: // Close has not seen it
		c.kill()
	default:
	}
	return c
}

// watch starts the guardian again whenever it ends, ever more slowly if it does not stay.
func (k *Process) watch(c *child) {
	wait, complained := againAfter, false
	for {
		begun := time.Now()
		if c != nil {
			end := c.wait()
			k.mu.Lock()
			k.child, k.problem = nil, fmt.Sprintf("it ended (%s) and is started again", end)
			k.mu.Unlock()
		}
		if time.Since(begun) > steadyAfter {
			wait, complained = againAfter, false
		}
		select {
		case <-k.closed:
			return
		default:
		}
		if !complained {
			complained = true
			k.cfg.Log.Warn().Str("problem", k.State().Problem).Msg("the guardian does not run: until it does, a crash costs " +
				"the rest of the lease")
		}
		select {
		case <-k.closed:
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, againAtMost)
		c = k.start()
	}
}
