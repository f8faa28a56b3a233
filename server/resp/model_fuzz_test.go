package resp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/testseed"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/admission"
	"tenure/server/service"
	"tenure/server/slow"
	"tenure/server/watch"
)

// modelSteps is how many commands the connection of TestAConnectionUnderRefusals sends.
const modelSteps = 100_000

// One connection beside a plain model, while commands are refused for load, rate, permission, size, space and by the
// node, and others write the same keys. The time is not the real one: refusals that come late cost nothing.
func TestAConnectionUnderRefusals(t *testing.T) {
	seed := testseed.Of(t)
	synctest.Test(t, func(t *testing.T) {
		w := newRefusingWorld(t, rand.New(rand.NewPCG(seed, 0)))
		defer w.end()
		for sent := 0; sent < modelSteps; {
			w.change()
			n := 1 + w.random.IntN(1+w.random.IntN(12))
			if err := w.pipeline(n); err != nil {
				t.Fatalf("after %d commands: %v\nthe last commands and replies:\n%s", sent, err, strings.Join(w.last, "\n"))
			}
			sent += n
		}
		for what, n := range map[string]int{"transactions carried out": w.done, "EXECABORT": w.aborted, "changed keys": w.changed,
			"refusals for load or rate": w.busy, "refusals of the node": w.down} {
			if n < modelSteps/4000 {
				t.Errorf("%d times %s: too few for %d commands", n, what, modelSteps)
			}
		}
	})
}

// refusingWorld is a connection, what is around it, and its model.
type refusingWorld struct {
	*fake
	t       *testing.T
	random  *rand.Rand
	model   *connModel
	server  *Server
	session *session
	other   *admission.Conn  // of the same source
	flight  admission.Flight // of other
	decider *access.Decider

	last                               []string // commands with their replies, and changes of the world
	done, aborted, changed, busy, down int

	tooFast bool // the rate is what is refused for
	mu      sync.Mutex
	cut     bool  // the node does not hear of permissions
	fails   error // of reads and writes
}

func newRefusingWorld(t *testing.T, random *rand.Rand) *refusingWorld {
	w := &refusingWorld{fake: newFake(t), t: t, random: random, model: newConnModel()}
	w.decider = access.New(access.Config{CatchUp: w.catchUp, Now: time.Now})
	cfg := Config{Config: service.Config{Access: w.decider, Hub: watch.New(testHub), MaxValueBytes: modelValueBytes}, Addr: "none"}
	cfg.Admission = admission.NewControl(admission.Limits{Loopback: true, RequestsPerSource: 1,
		Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 100, Burst: 200}}, zerolog.Nop(), admission.NewMetrics())
	w.state.Observe(kv.Observer{Changed: cfg.Hub.Changed, ACL: func(uint64) { w.decider.Publish(w.state.ACL()) }})
	w.token(root, kv.ManagementPolicy)
	policy := kv.Policy{ID: "00000001-0000-4000-8000-0000000000aa", Name: "app",
		Rules: `key_prefix "own/" { policy = "write" } key_prefix "q/" { policy = "write" }`}
	w.apply(t, kv.PutPolicy(policy, true))
	w.token("app", policy.ID)
	w.apply(t, kv.Command{Op: kv.OpQuota, Key: "q/", Value: kv.QuotaLimits(modelQuotaBytes, 0)})
	cfg.Hub.Begin(w.state.Revision())
	var err error
	if w.server, err = New(cfg, service.FrontOf(w)); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	w.server.begin(loopback{far})
	w.session = newSession(t, near)
	_, idle := net.Pipe()
	w.other = cfg.Admission.Conns.AdmitOrdinary(loopback{idle})
	return w
}

func (w *refusingWorld) end() {
	w.flight.End()
	_ = w.session.Close()
	w.server.going.Wait()
}

// loopback is a connection that seems to come from this machine.
type loopback struct{ net.Conn }

func (loopback) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (w *refusingWorld) catchUp(time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return errors.New("no master is known")
	}
	return nil
}

func (w *refusingWorld) token(secret, policy string) {
	w.apply(w.t, kv.PutToken(kv.Token{Accessor: modelAccessor(secret), Secret: kv.HashSecret(secret), Policies: []string{policy}}, true))
}

func modelAccessor(secret string) string {
	return fmt.Sprintf("%08d-0000-4000-8000-0000000000bb", len(secret))
}

// failing returns what a request of the connection comes to, if not what it asks for.
func (w *refusingWorld) failing() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fails
}

func (w *refusingWorld) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	err := w.failing()
	if errors.Is(err, service.ErrUnknown) && len(c.Parts)%2 == 0 {
		_, _ = w.fake.Write(timeout, c, took) // applied, and the answer is lost
	}
	if err != nil {
		return kv.Result{}, err
	}
	return w.fake.Write(timeout, c, took)
}

func (w *refusingWorld) GetMany(timeout time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	if err := w.failing(); errors.Is(err, service.ErrUnknown) {
		return 0, service.ErrNotApplied // a read has no outcome
	} else if err != nil {
		return 0, err
	}
	return w.fake.GetMany(timeout, mode, keys, each)
}

var modelKeys = []string{"own/a", "own/b", "own/n", "q/a", "q/b", "others/x"}

// change changes the world a little, now and then.
func (w *refusingWorld) change() {
	m := w.model
	w.rest()
	how := w.random.IntN(20)
	if how < 2 && w.fake.full {
		return // nobody else writes either
	}
	switch how {
	case 0: // somebody else writes
		key, value := modelKeys[w.random.IntN(len(modelKeys))], fmt.Sprint(w.random.IntN(20))
		if refusedByQuota(m.keys, key, value) {
			return
		}
		w.apply(w.t, kv.Command{Op: kv.OpSet, Key: key, Value: []byte(value)})
		m.keys[key] = value
		m.changes[key]++
		w.note("somebody writes %s to %s", value, key)
	case 1: // the token of the client is deleted, or there is one again
		if m.appLives {
			w.apply(w.t, kv.DropToken(modelAccessor("app")))
			m.gone = m.gone || m.who == "app"
		} else {
			w.token("app", "00000001-0000-4000-8000-0000000000aa")
			m.gone = false
		}
		m.appLives = !m.appLives
		w.note("the token app is there: %v", m.appLives)
	case 2, 3: // it begins or ends that everything is refused
		w.refuse(w.random.IntN(12))
	}
}

// refuse makes the world refuse things in one of several ways, or not.
func (w *refusingWorld) refuse(how int) {
	w.flight.End()
	w.mu.Lock()
	w.cut, w.fails = false, nil
	w.fake.full = false
	w.mu.Unlock()
	w.model.refusing, w.tooFast = how < 6, how == 1
	w.rest()
	switch how {
	case 0:
		w.flight, _ = w.server.cfg.Admission.Conns.Begin(w.other, admission.Ordinary)
	case 1:
		rates := w.server.cfg.Admission.Rates
		for range 2 {
			rates.Charge(w.other.Client, 200, time.Now())
		}
	case 2:
		w.cut = true
	case 3:
		w.fails = service.ErrNotApplied
	case 4:
		w.fails = service.ErrUnknown
	case 5:
		w.fake.full = true
	}
	w.note("the world refuses: %d", how)
}

// rest lets the client's bucket of the rate fill up, unless it is to be too fast.
func (w *refusingWorld) rest() {
	if !w.tooFast {
		time.Sleep(10 * time.Second)
	}
}

func (w *refusingWorld) note(format string, args ...any) {
	w.last = append(w.last, fmt.Sprintf("  "+format, args...))
	w.last = w.last[max(0, len(w.last)-60):]
}

// command draws a command.
func (w *refusingWorld) command() []string {
	key := modelKeys[w.random.IntN(len(modelKeys))]
	switch w.random.IntN(24) {
	case 0, 1, 2, 3:
		return []string{"GET", key}
	case 4, 5, 6:
		return []string{"SET", key, fmt.Sprint(w.random.IntN(1_000_000) * w.random.IntN(1_000_000_000))}
	case 7, 8:
		return []string{"INCR", key}
	case 9:
		return []string{"DEL", key}
	case 10:
		return []string{"SET", key, strings.Repeat("x", 60+w.random.IntN(12))}
	case 11:
		return []string{"WATCH", key, modelKeys[w.random.IntN(len(modelKeys))]}
	case 12:
		return []string{"WATCH", key}
	case 13:
		return [][]string{{"NOSUCH", key}, {"GET"}, {"SET", key, "v", "WRONG"}, {"WATCH", strings.Repeat("k", 100)}, {"WATCH", ""},
			{"SELECT", "1"}}[w.random.IntN(6)]
	case 14, 15, 16, 17:
		return []string{"MULTI"}
	case 18, 19, 20:
		return []string{"EXEC"}
	case 21:
		return [][]string{{"DISCARD"}, {"UNWATCH"}, {"PING"}}[w.random.IntN(3)]
	case 22:
		return []string{"AUTH", []string{root, root, "app", "app", "nobody"}[w.random.IntN(5)]}
	}
	return [][]string{{"RESET"}, {"PING"}, {"AUTH", root}, {"AUTH", root}}[w.random.IntN(4)]
}

// pipeline sends commands together, and shows the model the replies.
func (w *refusingWorld) pipeline(n int) error {
	commands := make([][]string, n)
	for i := range commands {
		commands[i] = w.command()
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		sendBulks(w.session, commands...)
	}()
	for _, c := range commands {
		reply := w.session.reply()
		w.note("%q: %s", c, reply)
		w.count(c, reply)
		if err := w.model.step(c, reply); err != nil {
			return fmt.Errorf("%q is answered %s: %w", c, reply, err)
		}
	}
	<-sent
	return w.sync()
}

func (w *refusingWorld) count(cmd []string, reply string) {
	switch {
	case strings.HasPrefix(reply, "-EXECABORT"):
		w.aborted++
	case cmd[0] == "EXEC" && reply == "nil":
		w.changed++
	case cmd[0] == "EXEC" && reply[0] == '[':
		w.done++
	case strings.HasPrefix(reply, "-TRYAGAIN"):
		w.busy++
	case strings.HasPrefix(reply, "-CLUSTERDOWN"), strings.HasPrefix(reply, "-UNKNOWN"), strings.HasPrefix(reply, "-OOM not"):
		w.down++
	}
}

// sync compares the keys with those of the model. After a reply that did not say what was done it takes them over.
func (w *refusingWorld) sync() error {
	w.fake.mu.Lock()
	defer w.fake.mu.Unlock()
	m := w.model
	for _, k := range modelKeys {
		e, there, err := w.state.Get(k)
		if err != nil {
			return err
		}
		want, wanted := m.keys[k]
		switch {
		case there == wanted && string(e.Value) == want && !m.unsure:
			continue
		case !m.unsure:
			return fmt.Errorf("%s holds %q (%v), want %q (%v)", k, e.Value, there, want, wanted)
		case there:
			m.keys[k] = string(e.Value)
		default:
			delete(m.keys, k)
		}
	}
	m.doubtful, m.unsure = m.doubtful || m.unsure && len(m.watched) > 0, false
	return nil
}

// sendBulks sends commands in one go.
func sendBulks(s *session, commands ...[]string) {
	s.t.Helper()
	var b strings.Builder
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	if _, err := s.Write([]byte(b.String())); err != nil {
		s.t.Error(err)
	}
}
