package resp

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/service"
	"tenure/server/slow"
)

// busy makes first's next command wait in the node b, and so uses up the requests in flight that its source may have,
// until the returned function is called.
func busy(t *testing.T, b *blocked, first *session) (idle func()) {
	t.Helper()
	first.send("SET other 1")
	<-b.arrived
	return func() {
		t.Helper()
		close(b.release)
		if got := first.reply(); got != "OK" {
			t.Fatal(got)
		}
		go func() {
			for range b.arrived {
			}
		}()
	}
}

// What ends something that was admitted is admitted: a transaction that stays open would answer QUEUED to whoever uses
// the connection next.
func TestTheEndOfATransactionIsNeverRefused(t *testing.T) {
	for _, end := range []string{"EXEC", "DISCARD", "RESET", "EXEC too many"} {
		b := &blocked{newFake(t), make(chan struct{}), make(chan struct{})}
		b.fake.apply(t, kv.Command{Op: kv.OpSet, Key: "balance", Value: []byte("100")})
		server := limited(t, b, admission.Limits{RequestsPerSource: 1})
		first, second := dial(t, server), dial(t, server)
		second.want("MULTI", "OK")
		second.want("INCR n", "QUEUED")
		idle := busy(t, b, first)
		second.send(end)
		ended := make(chan string, 1)
		go func() { ended <- second.reply() }()
		select {
		case <-b.arrived: // an EXEC is carried out
		case got := <-ended:
			ended <- got
		}
		idle()
		<-ended
		second.want("GET balance", "100")
		second.want("SET order 1742", "OK")
		if _, there, _ := b.state.Get("order"); !there {
			t.Errorf("after %s a SET is answered OK and not carried out", end)
		}
		close(b.arrived)
	}
}

// A transaction of which any part was refused never runs, whatever comes behind that part.
func TestATransactionWithARefusedPartNeverRuns(t *testing.T) {
	const exec = "-EXECABORT Transaction discarded because of previous errors."
	large := "SET large " + strings.Repeat("x", 600)
	for name, commands := range map[string][]string{
		"an unknown command":        {"INCRBYY to 5"},
		"a wrong number":            {"SET to"},
		"a wrong option":            {"SET to 1 WRONG"},
		"a wrong key":               {`SET "" 1`},
		"a key that is no UTF-8":    {`SET "\xff" 1`},
		"too large":                 {large},
		"not in a transaction":      {"KEYS *"},
		"another database":          {"SELECT 1"},
		"a nested MULTI behind it":  {"INCRBYY to 5", "MULTI"},
		"a WATCH behind it":         {"INCRBYY to 5", "WATCH x"},
		"an EXEC with an argument":  {"EXEC now"},
		"a login that is too late":  {"AUTH x"},
		"too large, then MULTI":     {large, "MULTI"},
		"an APPEND beyond its size": {"APPEND long " + strings.Repeat("x", 300)},
		"a wrong subcommand":        {"CLIENT NOSUCH"},
		"PUBLISH":                   {"PUBLISH to 1"},
		"a name for the connection": {"CLIENT SETNAME x"},
		"a setting":                 {"CONFIG SET notify-keyspace-events K"},
	} {
		late := map[string]string{
			"an APPEND beyond its size": "string exceeds",
			"a wrong subcommand":        "unknown subcommand",
			"PUBLISH":                   "nothing can be published",
		}[name]
		f := newFake(t)
		f.apply(t, kv.Command{Op: kv.OpSet, Key: "long", Value: []byte(strings.Repeat("x", 300))})
		s := dial(t, start(t, f, Config{Config: service.Config{MaxValueBytes: 512}}))
		s.want("MULTI", "OK")
		s.want("SET from 1", "QUEUED")
		for _, c := range commands {
			sendBulk(s, strings.Split(c, " ")...)
			s.reply()
		}
		s.send("SET behind 1", "EXEC")
		if got := s.reply(); got != "QUEUED" && name != "an EXEC with an argument" {
			t.Errorf("%s: a command behind it: %s", name, got)
		}
		got := s.reply()
		_, from, _ := f.state.Get("from")
		_, behind, _ := f.state.Get("behind")
		switch {
		case name == "an EXEC with an argument": // that ended it
			if from || got != "-ERR EXEC without MULTI" {
				t.Errorf("%s: then EXEC %s, and it was carried out: %v", name, got, from)
			}
		case late != "":
			if from || behind || !strings.HasPrefix(got, "-EXECABORT Transaction discarded because of: "+late) {
				t.Errorf("%s: EXEC %s; written: %v, %v", name, got, from, behind)
			}
		case from || behind || got != exec:
			t.Errorf("%s: EXEC %s; written: %v, %v", name, got, from, behind)
		}
		s.want("SET after 1", "OK")
	}
}

// What changes a connection is not possible in a transaction, which may come to nothing. A CONFIG SET that is refused
// changes nothing.
func TestARefusalLeavesTheSettingsOfAConnection(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	for _, command := range []string{
		"CLIENT SETNAME x", "client setname x", "CLIENT TRACKING OFF", "CONFIG SET notify-keyspace-events K",
	} {
		s.want("WATCH k", "OK")
		s.want("MULTI", "OK")
		name, _, _ := strings.Cut(strings.ToLower(command), " ")
		s.want(command, "-ERR "+name+" is not possible in a transaction")
		s.want("EXEC", "-EXECABORT Transaction discarded because of previous errors.")
	}
	s.wantPrefix("-ERR Unknown option", "CONFIG SET notify-keyspace-events K nosuch 1")
	s.want("CLIENT GETNAME", "nil")
	s.want("CONFIG GET notify-keyspace-events", "[notify-keyspace-events AKE]")
	s.wantPrefix("-ERR CONFIG SET failed - save is fixed here", "CONFIG SET notify-keyspace-events K save 60")
	s.want("CONFIG SET notify-keyspace-events K databases 1", "OK")
	s.want("CONFIG GET notify-keyspace-events", "[notify-keyspace-events K]")
}

// writeless is a node that reaches no master.
type writeless struct{ *fake }

func (writeless) Write(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	return kv.Result{}, service.ErrNotApplied
}

// A stale read needs no master, whatever is beside it in a pipeline.
func TestAStaleReadBesideAWriteNeedsNoMaster(t *testing.T) {
	f := newFake(t)
	f.apply(t, kv.Command{Op: kv.OpSet, Key: "k", Value: []byte("v")})
	s := dial(t, start(t, writeless{f}, Config{}))
	s.want("READONLY", "OK")
	s.send("GET k", "SET k w", "GET k", "EXISTS k", "DEL k", "INCR n", "STRLEN k")
	for _, want := range []string{"v", "-", "v", "1", "-", "-", "1"} {
		if got := s.reply(); got != want && (want != "-" || !strings.HasPrefix(got, "-CLUSTERDOWN")) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// sendBulk sends a command as clients do.
func sendBulk(s *session, args ...string) {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		a = strings.NewReplacer(`""`, "", `"\xff"`, "\xff").Replace(a)
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := s.Write([]byte(b.String())); err != nil {
		s.t.Fatal(err)
	}
}

// As in Redis a nested MULTI, or a WATCH, is an error that breaks nothing.
func TestANestedMultiBreaksNothing(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	for _, again := range []string{"MULTI", "WATCH x"} {
		s.want("MULTI", "OK")
		s.wantPrefix("-ERR", again)
		s.want("INCR n", "QUEUED")
		s.wantPrefix("[", "EXEC")
	}
}

// Beyond the rate a transaction is answered with errors and EXECABORT: its commands are not carried out one by one.
func TestAPipelineBeyondTheRateRunsNoPart(t *testing.T) {
	f := newFake(t)
	server := limited(t, f, admission.Limits{Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 20, Burst: 4}})
	s := dial(t, server)
	for range 10 {
		for _, c := range []string{"MULTI", "INCR a", "INCR b", "INCR c", "EXEC"} { // not always the same is refused
			s.send(c)
			s.reply()
		}
	}
	a, _, _ := f.state.Get("a")
	for _, key := range []string{"b", "c"} {
		if e, _, _ := f.state.Get(key); string(e.Value) != string(a.Value) {
			t.Errorf("a is %q and %s is %q", a.Value, key, e.Value)
		}
	}
}

// An EXEC behind a WATCH that was refused is not carried out: it would be unchecked.
func TestARefusedWatchRefusesItsExec(t *testing.T) {
	const aborted = "-EXECABORT Transaction discarded because a WATCH before it was refused"
	many := "WATCH"
	for i := range maxWatched + 1 {
		many += fmt.Sprint(" k", i)
	}
	server := func(f *fake) *Server {
		return limited(t, f, admission.Limits{Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: 40}})
	}
	for name, c := range map[string]struct {
		watch []string
		exec  string
	}{
		"too many keys":         {[]string{many}, aborted},
		"no key":                {[]string{`WATCH a ""`}, aborted},
		"too large":             {[]string{"WATCH " + strings.Repeat("k", 600)}, aborted},
		"taken back":            {[]string{many, "UNWATCH"}, "[1]"},
		"twice":                 {[]string{many, "WATCH a"}, aborted},
		"of an earlier EXEC":    {[]string{many, "MULTI", "EXEC"}, "[1]"},
		"of an earlier DISCARD": {[]string{many, "MULTI", "DISCARD"}, "[1]"},
		"of before RESET":       {[]string{many, "RESET"}, "[1]"},
	} {
		s := dial(t, start(t, newFake(t), Config{Config: service.Config{MaxValueBytes: 512}}))
		for _, w := range c.watch {
			sendBulk(s, strings.Split(w, " ")...)
			s.reply()
		}
		s.want("MULTI", "OK")
		s.want("INCR n", "QUEUED")
		s.send("EXEC")
		if got := s.reply(); got != c.exec {
			t.Errorf("%s: %s", name, got)
		}
		s.want("GET after", "nil")
	}
	// By the rate, by the backend, and by permission; and cured by another try.
	f := newFake(t)
	s := dial(t, server(f))
	for s.send("WATCH a"); ; s.send("WATCH a") {
		if got := s.reply(); got != "OK" {
			break
		}
	}
	s.want("MULTI", "OK")
	s.want("EXEC", aborted)
	f = newFake(t)
	s = dial(t, start(t, f, Config{}))
	f.set(service.ErrNotApplied)
	s.wantPrefix("-CLUSTERDOWN", "WATCH a b")
	f.set(nil)
	s.want("WATCH b", "OK")
	s.want("WATCH c", "OK")
	s.want("MULTI", "OK")
	s.want("EXEC", aborted)
	f.set(service.ErrNotApplied)
	s.wantPrefix("-CLUSTERDOWN", "WATCH a b")
	f.set(nil)
	s.want("WATCH a b", "OK")
	s.want("MULTI", "OK")
	s.want("INCR n", "QUEUED")
	s.want("EXEC", "[1]")
	g := newGuarded(t)
	g.may("own", `key_prefix "own/" { policy = "write" }`)
	s = g.as("own")
	s.wantPrefix("-NOPERM", "WATCH others/a")
	s.want("MULTI", "OK")
	s.want("SET own/a 1", "QUEUED")
	s.want("EXEC", aborted)
}

// set makes everything that is asked of f fail.
func (f *fake) set(fail error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// Under a token that has ended a transaction does not run, and its connection is as it was before MULTI.
func TestATokenThatEndsWithinATransaction(t *testing.T) {
	for _, end := range []string{"EXEC", "DISCARD"} {
		g := newGuarded(t)
		app := g.may("app", `key_prefix "" { policy = "write" }`)
		s := g.as("app")
		s.want("WATCH k", "OK")
		s.want("MULTI", "OK")
		s.want("SET k 1", "QUEUED")
		g.apply(t, kv.DropToken(app))
		want := "OK"
		if end == "EXEC" {
			want = "-EXECABORT Transaction discarded because of: " + strings.TrimPrefix(gone, "-")
		}
		s.want(end, want)
		s.want("GET k", gone)
		s.want("AUTH root", "OK")
		s.want("GET k", "nil")
		if end == "EXEC" && !strings.Contains(strings.Join(g.lines(1), ""), `"redis.exec"`) {
			t.Error("the audit log has no line of the EXEC")
		}
	}
}

// Logging in does not free a pipeline from the bound that it has reached.
func TestALoginLiftsNoLimit(t *testing.T) {
	b := &blocked{newFake(t), make(chan struct{}), make(chan struct{})}
	server := limited(t, b, admission.Limits{RequestsPerSource: 1})
	first, second := dial(t, server), dial(t, server)
	idle := busy(t, b, first)
	second.send("GET k", "AUTH default x", "GET k")
	for _, want := range []string{"-TRYAGAIN", "OK", "-TRYAGAIN"} {
		if got := second.reply(); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	idle()
	close(b.arrived)
}

// What is too large is refused with its limit, and the connection goes on.
func TestWhatIsTooLargeIsToldAndDropped(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{Config: service.Config{MaxValueBytes: 1 << 20}}))
	if err := s.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	value := strings.Repeat("v", 1<<20)
	for size, want := range map[int]string{
		1 << 20: "OK",
		1<<20 + 1: "-ERR an argument of 'SET' has 1048577 bytes: at most 1048576 are accepted (--max-value-bytes): nothing was " +
			"changed",
		32 << 20: "-ERR an argument of 'SET' has 33554432 bytes",
	} {
		sendBulk(s, "SET", "k", strings.Repeat("v", size))
		if got := s.reply(); !strings.HasPrefix(got, want) {
			t.Errorf("a value of %d bytes: %.200s", size, got)
		}
	}
	sendBulk(s, "MSET", "a", value, "b", value, "c", value)
	if got := s.reply(); !strings.HasPrefix(got, "-ERR the arguments of 'MSET' have 3145735 bytes together: at most 2097152 are") {
		t.Error(got)
	}
	sendBulk(s, strings.Repeat("x", 1<<20+1))
	if got := s.reply(); !strings.HasPrefix(got, "-ERR an argument of '' has") {
		t.Error(got)
	}
	s.want("GET a", "nil")
}

// A valid command does not fail because of its neighbours in a pipeline.
func TestNeighboursDoNotFail(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{Config: service.Config{MaxValueBytes: 16 << 20}}))
	if err := s.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	const largest = 16 << 20
	value := strings.Repeat("v", largest)
	sendBulk(s, "SET", "k", value)
	if got := s.reply(); got != "OK" {
		t.Errorf("the largest value alone: %.200s", got)
	}
	sendBulks(s, []string{"MULTI"}, []string{"SET", "k", value}, []string{"EXEC"})
	if s.reply(); s.reply() != "QUEUED" || s.reply() != "[OK]" {
		t.Error("the largest value is not taken in a transaction")
	}
	// A pipeline with writes, whose results have more bytes together than one command of the log can return.
	go func() { // the replies do not fit into the sockets
		sendBulk(s, "SET", "a", "1")
		for range 3 {
			sendBulk(s, "GET", "k")
			sendBulk(s, "INCR", "n")
		}
		sendBulk(s, "MGET", "n", "k", "a")
		sendBulk(s, "MGET", "k", "k", "k")
		sendBulk(s, "GETSET", "k", value)
		sendBulk(s, "DEL", "a", "n")
	}()
	want := []string{"OK", value, "1", value, "2", value, "3", "[3 " + value + " 1]", "-ERR the reply would be larger than 32 MiB",
		value, "2"}
	for i, w := range want {
		if got := s.reply(); !strings.HasPrefix(got, w) || len(got) != len(w) && got[0] != '-' {
			t.Errorf("reply %d has %d bytes, %.100s; want %d", i, len(got), got, len(w))
		}
	}
	sendBulk(s, "MSET", "a", value[:9<<20], "b", value[:9<<20])
	if got := s.reply(); !strings.HasPrefix(got, "-ERR the keys and values of one command have about 18874380 bytes together") {
		t.Errorf("%.200s", got)
	}
	// Commands that are valid alone, and one that is not: the log takes no two largest values at once.
	go func() {
		sendBulk(s, "SET", "b", "1")
		sendBulk(s, "SET", "k", value)
		sendBulk(s, "SET", "k", value[:9<<20], "IFEQ", value[:9<<20])
		sendBulk(s, "SET", "c", "1")
	}()
	for i, w := range []string{"OK", "OK", "-ERR the value and the one after IFEQ have 18874368 bytes", "OK"} {
		if got := s.reply(); !strings.HasPrefix(got, w) {
			t.Errorf("reply %d: %.200s, want %s", i, got, w)
		}
	}
}

// A batch is carried out before a command that would make it larger than a sequence may be.
func TestABatchFitsIntoASequence(t *testing.T) {
	const largest = 16 << 20
	var b batch
	command := func(bytes int) [][]byte { return [][]byte{[]byte("SET"), []byte("k"), make([]byte, bytes-4)} }
	if !b.fits(command(largest)) {
		t.Error("the largest value does not fit alone")
	}
	b.put([]byte("k"), make([]byte, maxBatchBytes-2), 0, 0, replyOK)
	if b.full() || !b.fits(command(largest-maxBatchBytes)) || b.fits(command(largest)) {
		t.Errorf("full %v, fits %v, %v", b.full(), b.fits(command(largest-maxBatchBytes)), b.fits(command(largest)))
	}
	for range maxSteps - 2 {
		b.step(kv.Command{Op: kv.OpFetch})
	}
	if b.full() || !b.fits(make([][]byte, maxKeys+1)) || b.fits(make([][]byte, kv.MaxSteps)) {
		t.Errorf("with many steps: full %v", b.full())
	}
}

// lagging is a node whose timers know of what was written once it has caught up.
type lagging struct {
	*fake
	caughtUp atomic.Bool
}

func (l *lagging) GetMany(timeout time.Duration, mode service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	l.caughtUp.Store(mode != service.Stale)
	return l.fake.GetMany(timeout, mode, keys, each)
}

func (l *lagging) Remaining(kv.TimedKind, string) (time.Duration, bool) {
	return time.Hour, !l.caughtUp.Load()
}

func TestTTLBehindAWriteWaitsForTheTimers(t *testing.T) {
	for _, mode := range []string{"default", "stale"} {
		l := &lagging{fake: newFake(t)}
		s := dial(t, start(t, l, Config{}))
		s.want("SET k v", "OK")
		s.want("TENURE.READ "+mode, "OK")
		l.caughtUp.Store(false)
		s.send("EXPIRE k 10", "TTL k") // by itself if it is stale
		if got := s.reply() + " " + s.reply(); got != "1 10" && mode != "stale" {
			t.Errorf("%s: %s", mode, got)
		}
		l.caughtUp.Store(false)
		s.send("MULTI", "EXPIRE k 20", "PTTL k", "EXEC")
		for range 3 {
			s.reply()
		}
		if got := s.reply(); got != "[1 20000]" {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

// A command that has begun to arrive must go on; a connection without one may be idle.
func TestAHalfSentCommandEndsItsConnection(t *testing.T) {
	server := start(t, newFake(t), Config{SendTimeout: 100 * time.Millisecond})
	idle, half := dial(t, server), dial(t, server)
	idle.want("PING", "PONG")
	if _, err := half.Write([]byte("*2\r\n$3\r\nGET\r\n$1")); err != nil {
		t.Fatal(err)
	}
	if got := half.reply(); got != "-ERR Protocol error: the rest of the command did not come within 100ms" {
		t.Error(got)
	}
	half.ends()
	if _, err := idle.Write([]byte("*1\r\n$4\r\nPI")); err != nil {
		t.Fatal(err)
	}
	if _, err := idle.Write([]byte("NG\r\n")); err != nil {
		t.Fatal(err)
	}
	if got := idle.reply(); got != "PONG" {
		t.Error(got)
	}
	time.Sleep(150 * time.Millisecond) // longer than a command has
	idle.want("PING", "PONG")
}

// While a command is carried out, the time for the one behind it does not run.
func TestASlowCommandTakesNoTimeFromTheNext(t *testing.T) {
	b := &blocked{newFake(t), make(chan struct{}), make(chan struct{})}
	s := dial(t, start(t, b, Config{SendTimeout: 200 * time.Millisecond}))
	send := func(text string) {
		t.Helper()
		if _, err := s.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1")
	time.Sleep(20 * time.Millisecond) // that is read alone, and has a deadline
	send("\r\nv\r\n*1\r\n$4\r\nPI")
	<-b.arrived
	time.Sleep(300 * time.Millisecond)
	close(b.release)
	if got := s.reply(); got != "OK" {
		t.Error(got)
	}
	send("NG\r\n")
	if got := s.reply(); got != "PONG" {
		t.Error(got)
	}
}

// A quota's refusal of a transaction tells no more than that of a single command.
func TestAnAbortedTransactionTellsNothingOfOthers(t *testing.T) {
	g := newGuarded(t)
	g.may("own", `key_prefix "q/mine" { policy = "write" }`)
	g.set("q/others", "0123456789")
	g.apply(t, kv.Command{Op: kv.OpQuota, Key: "q/", Value: kv.QuotaLimits(20, 0)})
	s := g.as("own")
	s.want("MULTI", "OK")
	s.want("SET q/mine 0123456789", "QUEUED")
	s.want("EXEC", "-EXECABORT Transaction discarded because of: OOM no room under a quota: the quota of a prefix does not allow it: nothing was changed: delete keys under that prefix, or have its quota raised, then try again")
}

// A connection that asks for nothing keeps little of what it has asked for.
func TestAnIdleConnectionKeepsLittle(t *testing.T) {
	var x executor
	b := &batch{}
	x.batch = b
	for range 3 * maxSteps {
		b.one(kv.Command{Op: kv.OpFetch, Key: "k"}, replyValue)
		x.results = append(x.results, result{})
	}
	b.fail(strings.Repeat("x", 2*largeReply))
	x.held.all = new(atomic.Int64)
	x.forget()
	if cap(b.steps) > 2*maxSteps || cap(b.ops) > 2*maxSteps || cap(x.results) > 2*maxSteps || cap(b.ready) > largeReply {
		t.Errorf("%d steps, %d commands, %d results, %d bytes", cap(b.steps), cap(b.ops), cap(x.results), cap(b.ready))
	}
}

// Replies that are known at once are sent in parts, and arguments are counted, however small they are.
func TestManySmallArgumentsAreBounded(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	many := func(n int) []string { return append([]string{"COMMAND", "INFO"}, make([]string, n-2)...) }
	sendBulk(s, many(maxArgs+1)...)
	if got := s.reply(); got != "-ERR 'COMMAND' has 8193 arguments: at most 8192 are accepted: use several commands: nothing was changed" {
		t.Error(got)
	}
	s.want("MULTI", "OK")
	for i := range maxQueuedArgs/maxArgs + 1 {
		want := "QUEUED"
		if i == maxQueuedArgs/maxArgs {
			want = "-ERR the transaction is too large"
		}
		sendBulk(s, many(maxArgs)...)
		if got := s.reply(); !strings.HasPrefix(got, want) {
			t.Errorf("command %d: %.100s", i, got)
		}
	}
	s.wantPrefix("-EXECABORT", "EXEC")
	b := batch{ready: make([]byte, partBytes)}
	if !b.full() {
		t.Error("replies that are known are collected without end")
	}
}

// What a connection keeps for EXEC is counted, however small its arguments are, and so are the keys that it watches.
func TestWhatWaitsForExecIsCounted(t *testing.T) {
	server := start(t, newFake(t), Config{})
	counted := func(least int64) {
		t.Helper()
		if n := server.shared.unread.Load(); n < least-largeReply || least == 0 && n != 0 {
			t.Errorf("%d bytes are counted, of %d", n, least)
		}
	}
	s := dial(t, server)
	s.want("MULTI", "OK")
	for range maxQueuedArgs / maxArgs {
		sendBulk(s, append([]string{"PING"}, make([]string, maxArgs-1)...)...)
		if got := s.reply(); got != "QUEUED" {
			t.Fatal(got)
		}
	}
	counted(maxQueuedArgs * 24) // a slice
	s.want("DISCARD", "OK")
	counted(0)
	keys := []string{"WATCH"}
	for i := range maxWatched {
		keys = append(keys, fmt.Sprintf("%01000d", i))
	}
	for range 2 { // the same keys take no more
		sendBulk(s, keys...)
		if got := s.reply(); got != "OK" {
			t.Fatal(got)
		}
	}
	counted(maxWatched * 1000)
	if n := server.shared.unread.Load(); n > maxWatched*1100 {
		t.Errorf("%d bytes are counted", n)
	}
	s.want("UNWATCH", "OK")
	counted(0)
	s.want("MULTI", "OK")
	sendBulk(s, "WATCH", "k")
	s.reply()
	s.want("UNWATCH", "QUEUED")
	s.want("EXEC", "[OK]")
	counted(0)
}

// A WATCH that finds no space for its keys is refused, and so is its EXEC.
func TestAWatchWithoutSpaceRefusesItsExec(t *testing.T) {
	server := start(t, newFake(t), Config{MaxUnreadBytes: 1})
	s := dial(t, server)
	keys := []string{"WATCH"}
	for i := range maxWatched {
		keys = append(keys, fmt.Sprintf("%01000d", i))
	}
	sendBulk(s, keys...)
	if got := s.reply(); !strings.HasPrefix(got, "-TRYAGAIN not applied: overloaded: too many bytes of queued commands") {
		t.Error(got)
	}
	s.want("MULTI", "OK")
	s.want("SET k v", "QUEUED")
	s.wantPrefix("-EXECABORT Transaction discarded because a WATCH before it was refused", "EXEC")
}

// A client that has not said who it is, and may do nothing until then, has a node keep little of a command.
func TestTheCommandsOfStrangersAreSmall(t *testing.T) {
	many := append([]string{"MGET"}, make([]string, 20)...)
	for i := range many[1:] {
		many[1+i] = "k"
	}
	g := newGuarded(t)
	g.may("app", `key_prefix "" { policy = "write" }`)
	server := start(t, g, g.cfg)
	for _, command := range [][]string{many, {"SET", "k", strings.Repeat("x", 17<<10)}} {
		s := dial(t, server)
		sendBulk(s, command...)
		if got := s.reply(); !strings.HasPrefix(got, "-ERR Protocol error: unauthenticated ") {
			t.Error(got)
		}
		s.ends()
		s = dial(t, server)
		s.want("AUTH app", "OK")
		sendBulk(s, command...)
		if got := s.reply(); strings.HasPrefix(got, "-") {
			t.Error(got)
		}
	}
	policies := []string{g.policy(`key "k" { policy = "read" }`)}
	g.apply(t, kv.PutToken(kv.Token{Accessor: kv.AnonymousToken, Policies: policies}, false))
	s := dial(t, server)
	sendBulk(s, many...)
	if got := s.reply(); strings.HasPrefix(got, "-") {
		t.Error(got)
	}
}

func TestPatternsAreBounded(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	long := strings.Repeat("*", maxChannelBytes+1)
	for _, c := range []string{"KEYS " + long, "SCAN 0 MATCH " + long, "PUBSUB CHANNELS " + long} {
		s.want(c, "-ERR a pattern has at most 2048 bytes")
	}
	var patterns string
	for i := range maxPatternsBytes/maxChannelBytes + 1 {
		patterns += fmt.Sprintf(" %d%s", i, strings.Repeat("x", maxChannelBytes-2))
	}
	s.wantPrefix("-ERR the patterns of a connection have at most 32768 bytes together", "PSUBSCRIBE"+patterns)
}

// A connection that is subscribed to nothing any more does not count as waiting.
func TestWhoHasUnsubscribedDoesNotWait(t *testing.T) {
	server := limited(t, newFake(t), admission.Limits{WaitingPerClient: 1})
	first, second := dial(t, server), dial(t, server)
	first.want("SUBSCRIBE a", "[subscribe a 1]")
	first.want("UNSUBSCRIBE a", "[unsubscribe a 0]")
	first.want("PING", "PONG")
	second.want("SUBSCRIBE a", "[subscribe a 1]")
	second.want("UNSUBSCRIBE", "[unsubscribe a 0]")
	second.want("PING", "PONG")
	first.want("SUBSCRIBE b", "[subscribe b 1]")
}
