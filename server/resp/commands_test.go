package resp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"tenure/internal/wrongport"
	"tenure/kv"
	"tenure/server/admission"
	"tenure/server/service"
)

// Each line is a command and what Redis 7.0.15 answers, but where a comment says otherwise.
func TestCommands(t *testing.T) {
	for name, script := range map[string]string{
		"strings": `
			set k v => OK
			get k => v
			get none => nil
			set k w nx => nil
			set n w nx => OK
			set none w xx => nil
			set k w get => v
			set k 2 xx get => w
			set new 1 nx get => nil
			setnx k 3 => 0
			setnx m 3 => 1
			getset k 4 => 2
			getset unset 4 => nil
			append k 56 => 3
			append fresh ab => 2
			strlen k => 3
			strlen none => 0
			getrange k 0 -2 => 45
			getrange k 5 9 =>
			getrange none 0 -1 =>
			set k 456 nx exat 1 => nil
			get k => 456
			set k 456 ifeq no exat 1 => nil
			set absent 2 xx exat 1 => nil
			set absent 1 nx exat 1 => OK
			exists absent => 0
			set new 2 xx get exat 1 => 1
			exists new => 0
			getdel k => 456
			getdel k => nil
			mset a 1 b 2 => OK
			mget a none b => [1 nil 2]
			msetnx c 1 a 2 => 0
			exists c => 0
			msetnx c 1 d 2 => 1
			mset a => -ERR wrong number of arguments for 'mset' command
			set k v ex => -ERR syntax error
			set k v ex 0 => -ERR invalid expire time in 'set' command
			set k v ex 1576800001 => -ERR invalid expire time in 'set' command: more than 50 years: nothing was changed
			set k v exat 9999999999999 => -ERR invalid expire time in 'set' command: more than 50 years: nothing was changed
			set k v ex 9223372036854775807 => -ERR invalid expire time in 'set' command
			expire k 9223370399119966 => -ERR invalid expire time in 'expire' command
			pexpire k 9223372036854770000 => -ERR invalid expire time in 'pexpire' command
			expire k 1576800001 => -ERR invalid expire time in 'expire' command: more than 50 years: nothing was changed
			psetex k 1576800000001 v => -ERR invalid expire time in 'psetex' command: more than 50 years: nothing was changed
			set k v ex x => -ERR value is not an integer or out of range
			set k v nx xx => -ERR syntax error
			set k v ifeq no => nil
			set k v => OK
			set k w ifeq v => OK
			get k => w`,
		"numbers": `
			incr n => 1
			incrby n 41 => 42
			decr n => 41
			decrby n -1 => 42
			incrby n x => -ERR value is not an integer or out of range
			set n x => OK
			incr n => -ERR value is not an integer or out of range
			set n 9223372036854775807 => OK
			incr n => -ERR increment or decrement would overflow
			decrby n -9223372036854775808 => -ERR decrement would overflow`,
		"keys": `
			mset a 1 b 2 => OK
			exists a a none => 2
			type a => string
			type none => none
			rename a c => OK
			rename a c => -ERR no such key
			renamenx c b => 0
			renamenx c d => 1
			del b d none => 2
			set k v => OK
			ttl k => -1
			ttl none => -2
			expire k 100 => 1
			ttl k => 100
			pexpire k 5000 nx => 0
			pexpire k 5000 xx => 1
			ttl k => 5
			expire k 6 gt => 1
			expire k 5 gt => 0
			expire k 7 lt => 0
			expire k 4 lt xx => 1
			expire k -1 gt => 0
			expire k -1 nx => 0
			ttl k => 4
			persist k => 1
			persist k => 0
			expire k 9 gt => 0
			expire k 9 xx lt => 0
			expire k 9 lt => 1
			ttl k => 9
			persist k => 1
			expire k -1 xx => 0
			expire none 9 lt => 0
			expire k 9 gt lt => -ERR GT and LT options at the same time are not compatible
			expire k 9 nx gt => -ERR NX and XX, GT or LT options at the same time are not compatible
			expire k 9 ab => -ERR Unsupported option ab
			expire k -1 nx => 1
			exists k => 0
			set k v => OK
			pexpireat k 1 lt => 1
			exists k => 0
			set k v => OK
			expire none 10 => 0
			expire k 0 => 1
			exists k => 0
			setex k 50 v => OK
			set k w keepttl => OK
			ttl k => 50
			set k w => OK
			ttl k => -1
			set k v px 100000 => OK
			pttl none => -2
			getex k persist => v
			ttl k => -1
			getex k ex 7 => v
			ttl k => 7
			delifeq k no => 0
			delex k ifeq v => 1`,
		"listings": `
			randomkey => nil
			mset a/1 x a/2 x b x => OK
			dbsize => 3
			keys * => [a/1 a/2 b]
			keys a/[12] => [a/1 a/2]
			scan 0 => [0 [a/1 a/2 b]]
			scan 0 count 2 => [2186366033069867 [a/1 a/2]]
			scan 2186366033069867 count 2 => [0 [b]]
			scan 2186366033069867 count 2 => [0 [b]]
			scan 0 match b* => [0 [b]]
			scan 0 type list => [0 []]
			scan 99 => -ERR invalid cursor: the key where it would go on is gone, or it is of another node: begin again with 0
			scan 0 count 0 => -ERR syntax error
			flushall => OK
			dbsize => 0
			set only 1 => OK
			randomkey => only`,
		"server": `
			config get appendf* => [appendfsync always]
			config set save "" => OK
			config set save 60 => -ERR CONFIG SET failed - save is fixed here: settings are flags of kvnode
			config set nosuch 1 => -ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
			command info get nosuch => [[get 2 [] 0 0 0] nil]
			role => [master 7 [[b 2 6] [c 3 0]]]
			wait 1 0 => 1
			wait 2 1 => 1
			wait x 1 => -ERR value is not an integer or out of range
			wait 1 -1 => -ERR timeout is negative
			function flush => OK`,
		"exactly once": `
			tenure.revision => 1
			tenure.once k1 1 incr n => 1
			tenure.once k1 1 incr n => 1
			tenure.once k1 1 incrby n 1 => -NOTONCE the idempotency key was used by another write: nothing was changed: use a new key for each write, and the same only to retry it unchanged
			tenure.once k1 1 incrby n 2 => -NOTONCE the idempotency key was used by another write: nothing was changed: use a new key for each write, and the same only to retry it unchanged
			tenure.once k2 99 incr n => -NOTONCE the base is above the store's revision: nothing was changed
			tenure.once k2 x incr n => -ERR the base of TENURE.ONCE is a revision, from 0 up: see TENURE.REVISION
			tenure.once k2 1 get n => -ERR 'get' writes nothing: send it as it is
			tenure.once k2 1 ping => -ERR 'ping' writes nothing: send it as it is
			tenure.once k2 1 nosuch => -ERR unknown command 'nosuch', with args beginning with: 
			tenure.once k2 1 incr => -ERR 'incr' with these arguments cannot be behind TENURE.ONCE or TENURE.FENCE
			tenure.once k2 1 mset a 1 b 2 => OK
			tenure.revision n => 2
			tenure.revision a => 3
			tenure.revision none => 0
			get n => 1`,
		"fences": `
			tenure.fence lease/l:7 set k v => OK
			tenure.fence lease/l:6 set k w => -FENCED a larger token of this name was seen: nothing was changed
			tenure.fence lease/l:8 incr n => 1
			tenure.fence l:8 incr n => -ERR TENURE.FENCE takes NAME:TOKEN, with a name that begins with lease/ or kv/: invalid command: the fence "l" starts neither with "lease/" nor with "kv/"
			tenure.fence lease/l incr n => -ERR TENURE.FENCE takes NAME:TOKEN, with a name that begins with lease/ or kv/: write it like lease/NAME:TOKEN or kv/KEY:TOKEN
			get k => v`,
		"connections": `
			ping => PONG
			ping hello => hello
			echo x => x
			select 0 => OK
			select 1 => -ERR DB index is out of range: there is one store, 0
			client setname me => OK
			client getname => me
			hello 2 setname you => [server redis version 7.0.15 proto 2 id 1 mode standalone role master modules []]
			client getname => you
			hello 4 => -NOPROTO unsupported protocol version
			reset => RESET
			client getname => nil
			nosuch a b => -ERR unknown command 'nosuch', with args beginning with: 'a' 'b' 
			get => -ERR wrong number of arguments for 'get' command
			get "" => -ERR invalid command: the key is empty: keys are 1 to 1024 bytes of UTF-8
			lpush l 1 => -ERR unknown command 'lpush': Tenure keeps strings, and no lists`,
		"transactions": `
			multi => OK
			set a 1 => QUEUED
			incr a => QUEUED
			get a => QUEUED
			exec => [OK 2 2]
			multi => OK
			multi => -ERR MULTI calls can not be nested
			get none => QUEUED
			ping => QUEUED
			exec => [nil PONG]
			exec => -ERR EXEC without MULTI
			discard => -ERR DISCARD without MULTI
			multi => OK
			exec => []
			multi => OK
			nosuch => -ERR unknown command 'nosuch', with args beginning with: 
			set a 9 => QUEUED
			exec => -EXECABORT Transaction discarded because of previous errors.
			get a => 2
			multi => OK
			set a x => QUEUED
			incr a => QUEUED
			set b y => QUEUED
			exec => [OK -ERR value is not an integer or out of range OK]
			watch a none => OK
			multi => OK
			set a z => QUEUED
			exec => [OK]
			multi => OK
			expire a 9 lt => -ERR expire is not possible in a transaction
			discard => OK
			multi => OK
			keys * => -ERR keys is not possible in a transaction
			discard => OK
			multi => OK
			client getname => QUEUED
			config get save => QUEUED
			exec => [nil [save ]]
			get a => z`,
	} {
		t.Run(name, func(t *testing.T) {
			s := dial(t, start(t, newFake(t), Config{}))
			for line := range strings.Lines(strings.TrimSpace(script)) {
				command, reply, _ := strings.Cut(strings.TrimLeft(strings.TrimSuffix(line, "\n"), "\t"), " =>")
				s.want(command, strings.TrimPrefix(strings.TrimSuffix(reply, "\n"), " "))
			}
		})
	}
}

func TestAPipelineIsOneCommandOfTheLog(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	f.told()
	s.send("set a 1", "incr a", "get a", "del a", "get a", "ping", "incr b")
	var got []string
	for range 7 {
		got = append(got, s.reply())
	}
	if all := strings.Join(got, " "); all != "OK 2 2 1 nil PONG 1" {
		t.Error(all)
	}
	if writes, reads := f.told(); writes != 1 || reads != 0 {
		t.Errorf("%d writes and %d reads", writes, reads)
	}
	s.send("get a", "get b", "strlen b", "mget a b")
	for range 4 {
		s.reply()
	}
	if writes, reads := f.told(); writes != 0 || reads != 1 {
		t.Errorf("of reads alone: %d writes and %d reads", writes, reads)
	}
}

// A write alone goes to the log as what it is, and its reply is what it came to there.
func TestAWriteAloneIsNoSequence(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	for _, c := range []struct {
		command, reply string
		op             kv.Op
	}{
		{"set a 1", "OK", kv.OpSet}, {"set a 2 nx get", "1", kv.OpSet}, {"incr a", "2", kv.OpAdd},
		{"append a 0", "2", kv.OpAppend}, {"mset b 1 c 2", "OK", kv.OpPutAll}, {"rename b d", "OK", kv.OpRename},
		{"del d", "1", kv.OpDelete}, {"incr c", "3", kv.OpAdd}, {"del a c", "2", kv.OpSequence},
	} {
		f.told()
		s.send(c.command)
		got := s.reply()
		if len(f.writes) != 1 || f.writes[0].Op != c.op || got != c.reply {
			t.Errorf("%s: %s, by %+v", c.command, got, f.writes)
		}
	}
}

func TestALongPipelineIsTakenInParts(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	const n = 5 * maxSteps
	large := "*3\r\n$3\r\nset\r\n$5\r\nlarge\r\n$200000\r\n" + strings.Repeat("v", 200_000) + "\r\n" // makes the buffer large
	go s.send(large + strings.TrimSuffix(strings.Repeat("incr n\r\n", n), "\r\n"))
	if got := s.reply(); got != "OK" {
		t.Fatal(got)
	}
	for i := range n {
		if got := s.reply(); got != fmt.Sprint(i+1) {
			t.Fatalf("reply %d is %s", i, got)
		}
	}
	for _, w := range f.writes {
		if len(w.Parts) > maxSteps {
			t.Errorf("a batch of %d steps", len(w.Parts))
		}
	}
}

func TestWhatIsWatchedMustNotHaveChanged(t *testing.T) {
	f := newFake(t)
	server := start(t, f, Config{})
	one, other := dial(t, server), dial(t, server)
	for _, c := range []struct {
		name, key string
		between   []string
		exec      string
	}{
		{"written", "a", []string{"set a 2"}, "nil"},
		{"written as it was", "a", []string{"set a 1"}, "nil"},
		{"deleted", "a", []string{"del a"}, "nil"},
		{"deleted and made as it was", "a", []string{"del a", "set a 1"}, "nil"},
		{"made", "none", []string{"set none 1"}, "nil"},
		{"made and deleted", "none", []string{"set none 1", "del none"}, "nil"},
		{"another", "a", []string{"set b 1", "del b"}, "[OK]"},
		{"another, while it is absent", "none", []string{"set b 1", "del b"}, "[OK]"},
	} {
		other.want("set a 1", "OK")
		one.want("watch "+c.key, "OK")
		for _, command := range c.between {
			other.send(command)
			other.reply()
		}
		one.want("multi", "OK")
		one.want("set result "+c.key, "QUEUED")
		one.send("exec")
		if got := one.reply(); got != c.exec {
			t.Errorf("%s: %s, want %s", c.name, got, c.exec)
		}
		other.send("del none")
		other.reply()
	}
	one.want("watch a", "OK")
	other.want("set a 3", "OK")
	one.want("unwatch", "OK")
	one.want("multi", "OK")
	one.want("get a", "QUEUED")
	one.want("exec", "[3]")
}

// A client repeats a command by itself after some errors: they are for what was not applied only.
func TestErrorsSayWhatBecameOfAWrite(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{service.ErrNotApplied, "-CLUSTERDOWN "}, {service.ErrOverloaded, "-TRYAGAIN "}, {service.ErrNoSpace, "-OOM "},
		{service.ErrUnknown, "-UNKNOWN outcome: "}, {errors.New("x"), "-UNKNOWN outcome: "},
		{service.ErrNotCaughtUp, "-CLUSTERDOWN "},
	} {
		f := newFake(t)
		f.fail = fmt.Errorf("%w: because", c.err)
		s := dial(t, start(t, f, Config{}))
		s.send("ping", "set a 1", "ping")
		first, second, third := s.reply(), s.reply(), s.reply()
		if first != "PONG" || !strings.HasPrefix(second, c.want) || third != "PONG" {
			t.Errorf("%v: %s, %s, %s", c.err, first, second, third)
		}
		s.send("multi", "set a 1", "exec")
		s.reply()
		s.reply()
		if got := s.reply(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v, in a transaction: %s", c.err, got)
		}
	}
}

// Deletions and reads go on while space is short, also beside writes that do not.
func TestWhatFreesSpaceGoesOn(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	s.want("mset a 1 b 2", "OK")
	f.mu.Lock()
	f.full = true
	f.mu.Unlock()
	for range 2 {
		s.send("set c 3", "del a", "get b", "incr b")
		if got := s.reply(); !strings.HasPrefix(got, "-OOM ") {
			t.Error("set:", got)
		}
		s.reply()
		if got := s.reply(); got != "2" {
			t.Error("get:", got)
		}
		if got := s.reply(); !strings.HasPrefix(got, "-OOM ") {
			t.Error("incr:", got)
		}
	}
	s.want("exists a", "0")
	s.send("set c 3")
	if got := s.reply(); !strings.HasPrefix(got, "-OOM ") {
		t.Error("alone:", got)
	}
}

// A transaction that only frees space goes on too, with the checks of its watched keys.
func TestWatchedKeysAreDeletedWhileSpaceIsShort(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	s.want("mset a 1 b 2", "OK")
	f.mu.Lock()
	f.full = true
	f.mu.Unlock()
	s.want("watch a", "OK")
	s.want("multi", "OK")
	s.want("del a", "QUEUED")
	s.want("get b", "QUEUED")
	s.want("exec", "[1 2]")
	s.want("watch b", "OK")
	s.want("multi", "OK")
	s.want("get b", "QUEUED")
	s.want("exec", "[2]")
	s.want("watch b", "OK")
	s.want("multi", "OK")
	s.want("del b", "QUEUED")
	s.want("set c 1", "QUEUED")
	s.send("exec")
	if got := s.reply(); !strings.HasPrefix(got, "-OOM ") {
		t.Error("a write beside a delete:", got)
	}
	s.want("exists b", "1")
}

// What a quota refuses of a command on several keys it refuses of all of them.
func TestSeveralKeysAreWrittenOrNone(t *testing.T) {
	f := newFake(t)
	f.apply(t, kv.Command{Op: kv.OpQuota, Key: "q/", Value: kv.QuotaLimits(0, 1)})
	s := dial(t, start(t, f, Config{}))
	for _, command := range []string{"mset q/1 a q/2 b", "msetnx q/1 a q/2 b", "tenure.once k 1 mset q/1 a q/2 b"} {
		s.send("set other 1", command)
		if got := s.reply(); got != "OK" {
			t.Errorf("beside %s: %s", command, got)
		}
		if got := s.reply(); !strings.HasPrefix(got, "-OOM ") {
			t.Errorf("%s: %s", command, got)
		}
		s.want("exists q/1 q/2", "0")
	}
	s.want("multi", "OK")
	s.want("msetnx q/1 a other b", "QUEUED")
	s.want("msetnx q/1 a new b", "QUEUED")
	s.want("mget q/1 new other", "QUEUED")
	s.want("exec", "[0 1 [a b 1]]")
}

func TestReadModes(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	for _, c := range []struct {
		command string
		mode    service.Mode
	}{
		{"ping", service.Default}, {"readonly", service.Stale}, {"readwrite", service.Default},
		{"tenure.read consistent", service.Consistent}, {"tenure.read stale", service.Stale}, {"reset", service.Default},
	} {
		s.send(c.command, "get a")
		s.reply()
		s.reply()
		f.mu.Lock()
		if got := f.reads[len(f.reads)-1]; got != c.mode {
			t.Errorf("behind %s: mode %d", c.command, got)
		}
		f.mu.Unlock()
	}
}

func TestBrokenInputIsAnsweredAndEndsTheConnection(t *testing.T) {
	for in, want := range map[string]string{
		"ping\r\n*1\r\nx": "+PONG\r\n-ERR Protocol error: expected '$', got 'x'\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\n\r\nset a 1\r\n": string(wrongport.Answer(wrongport.HTTP, wrongport.RESP)),
		"\x16\x03\x01\x02\x00\x01\x00\x01":              "-ERR this port speaks no TLS\r\n",
		"ping\r\nPOST / HTTP/1.1\r\nset a 1\r\n":        "+PONG\r\n",
		"*1\r\n$9223372036854775806\r\n" + "PING\r\n":   "-ERR Protocol error: invalid bulk length\r\n",
		"*200000000\r\n$1\r\na\r\n":                     "-ERR Protocol error: invalid multibulk length\r\n",
		"set a 1\r\nset \"b\r\n":                        "+OK\r\n-ERR Protocol error: unbalanced quotes in request\r\n",
		"quit\r\nset a 1\r\n":                           "+OK\r\n",
	} {
		s := dial(t, start(t, newFake(t), Config{}))
		if _, err := s.Write([]byte(in)); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if _, err := s.in.WriteTo(&got); err != nil && got.Len() == 0 && want != "" {
			t.Errorf("%q: %v", in, err)
		}
		if got.String() != want {
			t.Errorf("%q: %q, want %q", in, got.String(), want)
		}
	}
}

func TestOneConnectionTooMany(t *testing.T) {
	limits := admission.Limits{Conns: 2, Requests: 8, Reserved: 1}
	server := start(t, newFake(t), Config{Config: service.Config{Admission: admission.NewControl(limits, zerolog.Nop(), admission.NewMetrics())}})
	dial(t, server).want("ping", "PONG")
	if got := dial(t, server).reply(); got != "-ERR max number of clients reached (--max-connections, --max-connections-per-source)" {
		t.Error(got)
	}
}

// Without a guard of its keys, a node may refuse to delete them all, whatever way the command takes.
func TestFlushesThatAreRefused(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{RefuseFlush: true}))
	s.want("SET k v", "OK")
	for _, line := range []string{"FLUSHALL", "FLUSHDB ASYNC", "TENURE.FENCE kv/f:1 FLUSHALL",
		"TENURE.ONCE flush 2 FLUSHALL"} {
		s.send(line)
		if got := s.reply(); !strings.HasPrefix(got, "-NOPERM ") || !strings.Contains(got, "--redis-flush") {
			t.Errorf("%s: %s", line, got)
		}
	}
	s.want("MULTI", "OK")
	s.wantPrefix("-NOPERM ", "FLUSHALL")
	s.wantPrefix("-EXECABORT", "EXEC")
	s.want("FUNCTION FLUSH", "OK")
	s.want("SCRIPT FLUSH", "OK")
	s.want("GET k", "v")
}

// However many commands that delete everything arrive together, each is carried out.
func TestManyFlushesInAPipeline(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	s.send(strings.TrimSuffix(strings.Repeat("SET k v\r\nFLUSHALL\r\n", 20), "\r\n"))
	for range 40 {
		if got := s.reply(); got != "OK" {
			t.Fatal(got)
		}
	}
	s.want("DBSIZE", "0")
	s.want("MULTI", "OK")
	for range 5 {
		s.want("FLUSHALL", "QUEUED")
	}
	s.wantPrefix("-EXECABORT", "EXEC")
}
