package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// samples has a line or lines for each command; the last line shows its needs. The keys are k, which exists, and l,
// which does not.
var samples = map[string][]string{
	"set": {"SET k v"}, "setnx": {"SETNX l v"}, "setex": {"SETEX k 9 v"}, "psetex": {"PSETEX k 9 v"}, "get": {"GET k"},
	"getset": {"GETSET k v"}, "getdel": {"GETDEL k"}, "getex": {"GETEX k"}, "mget": {"MGET k l"}, "mset": {"MSET k 1 l 2"},
	"msetnx": {"MSETNX l 1 m 2"}, "strlen": {"STRLEN k"}, "append": {"APPEND k v"}, "getrange": {"GETRANGE k 0 1"},
	"substr": {"SUBSTR k 0 1"}, "incr": {"INCR n"}, "decr": {"DECR n"}, "incrby": {"INCRBY n 2"}, "decrby": {"DECRBY n 2"},

	"del": {"DEL k"}, "unlink": {"UNLINK k"}, "delifeq": {"DELIFEQ k v"}, "delex": {"DELEX k IFEQ v"},
	"exists": {"EXISTS k"}, "touch": {"TOUCH k"}, "type": {"TYPE k"}, "rename": {"SET k v", "RENAME k l"},
	"renamenx": {"RENAMENX k l"}, "expire": {"EXPIRE k 9"}, "pexpire": {"PEXPIRE k 9"},
	"expireat": {"EXPIREAT k 1990000000"}, "pexpireat": {"PEXPIREAT k 1"}, "persist": {"PERSIST k"}, "ttl": {"TTL k"},
	"pttl": {"PTTL k"}, "expiretime": {"EXPIRETIME k"}, "pexpiretime": {"PEXPIRETIME k"},

	"keys": {"KEYS k*"}, "scan": {"SCAN 0"}, "dbsize": {"DBSIZE"}, "randomkey": {"RANDOMKEY"}, "flushdb": {"FLUSHDB"},
	"flushall": {"FLUSHALL"},

	"multi": {"MULTI"}, "exec": {"MULTI", "SET k v", "EXEC"}, "discard": {"MULTI", "DISCARD"}, "watch": {"WATCH k"},
	"unwatch": {"UNWATCH"},

	"ping": {"PING"}, "echo": {"ECHO k"}, "quit": {"QUIT"}, "hello": {"HELLO"}, "select": {"SELECT 0"}, "reset": {"RESET"},
	"readonly": {"READONLY"}, "readwrite": {"READWRITE"}, "client": {"CLIENT LIST"}, "auth": {"AUTH root"},
	"acl": {"ACL WHOAMI"},

	"info": {"INFO"}, "config": {"CONFIG GET *"}, "command": {"COMMAND COUNT"}, "role": {"ROLE"},
	"function": {"FUNCTION LIST"}, "time": {"TIME"}, "wait": {"WAIT 0 0"},

	"script":  {"SCRIPT EXISTS 0"},
	"evalsha": {"EVALSHA c3f8721cbb97f72bc19e972846bd7aaf91901658 1 k v"},
	"eval":    {"EVAL x 0"}, // no Lua; the locks are those of EVALSHA

	"tenure.once": {"TENURE.ONCE id 0 SET k v"}, "tenure.fence": {"TENURE.FENCE kv/k:1 SET k v"},
	"tenure.lease": {"TENURE.LEASE ACQUIRE l me 5s"}, "sentinel": {"SENTINEL masters"},
	"tenure.revision": {"TENURE.REVISION k"}, "tenure.watch": {"TENURE.WATCH k 99"}, "tenure.read": {"TENURE.READ stale"},

	"subscribe": {"SUBSCRIBE __keyspace@0__:k"}, "psubscribe": {"PSUBSCRIBE __keyspace@0__:k*"},
	"unsubscribe": {"UNSUBSCRIBE x"}, "punsubscribe": {"PUNSUBSCRIBE x"}, "publish": {"PUBLISH x y"},
	"pubsub": {"PUBSUB CHANNELS"},
}

// forEverybody is the commands that need no permission, with the reason.
var forEverybody = map[string]string{
	"ping": "it says nothing", "echo": "likewise", "quit": "likewise", "select": "there is one store",
	"hello": "clients log in by it", "auth": "likewise", "acl": "one's own accessor", "client": "one's own connection",
	"reset": "it forgets", "readonly": "how reads are read", "readwrite": "likewise", "tenure.read": "likewise",
	"multi": "what is queued is decided", "discard": "it forgets", "unwatch": "likewise",
	"info": "keys are not counted for who may not read all", "config": "it is the same for all clusters",
	"command": "likewise", "function": "there are none", "script": "those that are known are the same for all",
	"eval": "an unknown script", "role": "clients find the master by it", "time": "the clock",
	"wait": "how many nodes have one's own write", "sentinel": "clients find the master by it", "publish": "likewise", "unsubscribe": "it forgets", "punsubscribe": "likewise",
}

// leavesOut are the commands that succeed for a client with another permission, and show only the keys that it may
// read.
var leavesOut = map[string]string{"scan": "[0 []]", "dbsize": "0", "randomkey": "nil", "pubsub": "[]"}

// CVE-2026-33413: a command without a check. The test runs each command without a token, with a token without its
// permissions, with a token deleted while the connection was open, and with a token for everything.
func TestNoCommandIsWithoutADecision(t *testing.T) {
	for name, cmd := range table {
		lines := samples[name]
		if lines == nil {
			t.Errorf("%s: say in samples how it is used, so that it can be seen who may", name)
			continue
		}
		for _, who := range []string{"", "weak", "gone", root} {
			g := newGuarded(t)
			g.set("k", "v", "n", "1")
			g.may("weak", `key "other" { policy = "read" } session_prefix "" { policy = "write" }`)
			gone := g.token("gone", kv.Token{Policies: []string{kv.ManagementPolicy}})
			s := g.as(who)
			if who == "gone" {
				s.want("GET k", "v")
				g.apply(t, kv.DropToken(gone))
			}
			asked, revision := g.asked.Load(), g.state.Revision()
			s.send(lines...)
			got := ""
			for range lines {
				got = s.reply()
			}
			g.judge(cmd, who, got)
			if denied := got[0] == '-'; who != root && denied && (g.asked.Load() != asked || g.state.Revision() != revision) {
				t.Errorf("%s with token %q reached the store", name, who)
			}
		}
	}
}

// judge checks the reply to the sample of a command.
func (g *guarded) judge(cmd *command, who, got string) {
	g.t.Helper()
	want := map[string]string{"": "-NOAUTH Authentication required: anonymous token lacks permission",
		"weak": "-NOPERM this user has no permissions to ",
		"gone": "-NOAUTH Authentication required: the token of this connection was deleted or has expired"}[who]
	inTransaction := cmd.name == "exec" && strings.HasPrefix(got, "-EXECABORT ")
	switch {
	case who == root && (strings.HasPrefix(got, "-NO") || strings.HasPrefix(got, "-EXECABORT")),
		who == "gone" && !cmd.stranger && !strings.HasPrefix(got, want),
		who == "gone" && cmd.stranger && strings.HasPrefix(got, "-") && !inTransaction:
	case who == root, who == "gone", inTransaction, who == "weak" && leavesOut[cmd.name] == got:
		return
	case forEverybody[cmd.name] != "":
		if !strings.HasPrefix(got, "-NO") {
			return
		}
	case strings.HasPrefix(got, want):
		return
	}
	g.t.Errorf("%s with token %q: %s", cmd.name, who, got)
}

// Who may read nothing of a prefix is not told of its changes.
func TestTrackingIsDecided(t *testing.T) {
	g := newGuarded(t)
	g.may("app", `key_prefix "mine/" { policy = "read" }`)
	s := g.as("app")
	s.send("HELLO 3")
	s.reply()
	s.send("CLIENT TRACKING ON BCAST PREFIX theirs/")
	if got := s.reply(); !strings.HasPrefix(got, "-NOPERM ") {
		t.Error(got)
	}
	s.want("CLIENT TRACKING ON", "OK")
	g.set("theirs/a", "1", "mine/a", "1")
	if got := s.reply(); strings.Contains(got, "theirs") || !strings.Contains(got, "mine/a") {
		t.Error(got)
	}
}

// A denied write is not applied, so the outcome of the last write is still known.
func TestWaitBehindADeniedWrite(t *testing.T) {
	g := newGuarded(t)
	g.may("app", `key_prefix "mine/" { policy = "write" }`)
	s := g.as("app")
	g.fake.status = api.Status{Node: 1, Master: 1, Role: api.RoleMaster, Peers: []api.PeerStatus{{Node: 2}, {Node: 3}}}
	s.want("SET mine/a 1", "OK")
	s.want("WAIT 0 0", "1")
	s.wantPrefix("-NOPERM ", "SET theirs 1")
	s.want("WAIT 0 0", "1")
}

// A command is never sent to the node by somebody who has forgotten to decide.
func TestACommandWithoutADecisionPanics(t *testing.T) {
	g := newGuarded(t)
	s := store{service: g.service, timeout: time.Second}
	g.service.Begin(&s.Request, service.End{})
	s.begin(service.Credentials{})
	defer func() {
		if recover() == nil {
			t.Error("it was sent")
		}
	}()
	_, _ = s.Write(kv.Command{Op: kv.OpSessionRenew}, nil) // it needs nothing that is read off the command
}

// CVE-2026-33343: the parts of what is sent together. Each command of a pipeline is decided, and what is allowed is
// done.
func TestCommandsOfAPipelineAreDecidedOneByOne(t *testing.T) {
	g := newGuarded(t)
	g.set("theirs", "secret")
	g.may("app", `key_prefix "mine/" { policy = "write" }`)
	s := g.as("app")
	rounds := g.rounds.Load()
	s.send("SET mine/a 1", "SET theirs 2", "GET theirs", "INCR mine/a", "MGET mine/a theirs", "MSET mine/b 1 theirs 2",
		"DEL mine/x theirs", "RENAME mine/a theirs", "RENAME theirs mine/c", "FLUSHALL", "GET mine/a")
	const denied = `-NOPERM this user has no permissions to access one of the keys used as arguments: token with AccessorID ` +
		`'00000003-0000-4000-8000-0000000000bb' lacks permission 'key:`
	for i, want := range []string{"OK", denied + `write' on "theirs"`, denied + `read' on "theirs"`, "2",
		denied + `read' on "theirs"`, denied + `write' on "theirs"`, denied + `write' on "theirs"`,
		denied + `write' on "theirs"`, denied + `read' on "theirs"`, denied + `write' on every key`, "2"} {
		if got := s.reply(); got != want {
			t.Errorf("reply %d: %s, want %s", i, got, want)
		}
	}
	if n := g.rounds.Load() - rounds; n > 2 { // more, if it came in more than one piece
		t.Errorf("%d rounds for one pipeline", n)
	}
	if g.value("theirs") != "secret" || g.value("mine/b") != "-" || g.value("mine/a") != "2" {
		t.Error("what was denied changed something")
	}
	s.send("GET mine/a", "GET theirs", "STRLEN mine/a") // reads alone
	for i, want := range []string{"2", denied + `read' on "theirs"`, "1"} {
		if got := s.reply(); got != want {
			t.Errorf("reply %d: %s, want %s", i, got, want)
		}
	}
}

// A denied command ends its transaction, when it is queued or when it is carried out.
func TestWhatIsDeniedEndsATransaction(t *testing.T) {
	g := newGuarded(t)
	policy := g.policy(`key_prefix "mine/" { policy = "write" }`)
	g.token("app", kv.Token{Policies: []string{policy}})
	s := g.as("app")
	s.want("MULTI", "OK")
	s.want("SET mine/a 1", "QUEUED")
	rounds := g.rounds.Load()
	for range 20 {
		s.wantPrefix("-NOPERM ", "SET theirs 1")
	}
	if n := g.rounds.Load() - rounds; n != 1 {
		t.Errorf("%d rounds for what one transaction is denied", n)
	}
	s.want("EXEC", "-EXECABORT Transaction discarded because of previous errors.")
	for _, c := range []string{"EXPIRE theirs 9", "PEXPIRE theirs 9 NX", "EXPIREAT theirs 1990000000", "PEXPIREAT theirs 1"} {
		s.want("MULTI", "OK")
		s.wantPrefix("-NOPERM ", c)
		s.want("DISCARD", "OK")
	}
	s.want("MULTI", "OK")
	s.want("SET mine/a 1", "QUEUED")
	s.want("SET mine/b", "-ERR wrong number of arguments for 'set' command")
	s.wantPrefix("-EXECABORT", "EXEC")
	s.want("MULTI", "OK")
	s.want("SET mine/a 1", "QUEUED")
	s.want("SET mine/b 1 wrong", "-ERR syntax error")
	s.wantPrefix("-EXECABORT", "EXEC")

	s.want("MULTI", "OK")
	s.want("SET mine/c 1", "QUEUED")
	s.want("SET mine/d 1", "QUEUED")
	g.apply(t, kv.PutPolicy(kv.Policy{ID: policy, Name: "narrow", Rules: `key "mine/c" { policy = "write" }`}, false))
	s.wantPrefix("-EXECABORT Transaction discarded because of: NOPERM this user has no permissions", "EXEC")
	if g.value("mine/c") != "-" || g.value("theirs") != "-" {
		t.Error("a part of a transaction was done")
	}
}

// A fence can keep others from writing, and a lock's script reads and writes as commands do.
func TestFencesAndScriptsAreDecided(t *testing.T) {
	g := newGuarded(t)
	g.set("theirs", "v")
	g.may("app", `key_prefix "mine/" { policy = "write" } lease "seen" { policy = "read" } lease "held" { policy = "write" }`)
	s := g.as("app")
	s.want("TENURE.FENCE lease/held:7 SET mine/a 1", "OK")
	s.wantPrefix("-NOPERM this user has no permissions to run this command: ", "TENURE.FENCE lease/seen:7 SET mine/a 2")
	s.wantPrefix("-NOPERM ", "TENURE.FENCE kv/theirs:7 SET mine/a 2")
	s.want("TENURE.FENCE kv/mine/x:7 INCR mine/a", "2")
	s.wantPrefix("-NOPERM ", "TENURE.ONCE id 0 SET theirs 2")
	for hash, script := range lockScripts {
		args := "theirs mine/x"
		s.wantPrefix("-NOPERM ", fmt.Sprintf("EVALSHA %s 2 %s %s 1 1", hash, args, strings.Repeat("1 ", script.args)))
	}
	if g.value("theirs") != "v" {
		t.Error("what was denied changed something")
	}
}

// Listings show what may be read, and the rest is not counted either.
func TestListingsLeaveOutWhatMayNotBeRead(t *testing.T) {
	g := newGuarded(t)
	for i := range 30 {
		g.set(fmt.Sprintf("hidden/%02d", i), "1")
	}
	g.set("mine/a", "1", "mine/b", "1", "mine/secret", "1")
	g.may("app", `key_prefix "mine/" { policy = "read" } key "mine/secret" { policy = "deny" }`)
	s := g.as("app")
	s.want("KEYS *", "[mine/a mine/b]")
	s.want("KEYS mine/*", "[mine/a mine/b]")
	s.wantPrefix("-NOPERM", "KEYS hidden/*")
	s.want("DBSIZE", "2")
	s.want("SCAN 0 COUNT 100", "[0 [mine/a mine/b]]")
	s.want("SCAN 0 COUNT 2", "[0 [mine/a mine/b]]")
	for range 10 {
		s.send("RANDOMKEY")
		if got := s.reply(); got != "mine/a" && got != "mine/b" {
			t.Errorf("a random key: %s", got)
		}
	}
	s.send("INFO")
	if got := s.reply(); strings.Contains(got, "keys=") {
		t.Errorf("INFO counts keys: %s", got)
	}
	all := g.as(root)
	all.want("DBSIZE", "33")
	all.send("INFO")
	if got := all.reply(); !strings.Contains(got, "db0:keys=33,") {
		t.Error(got)
	}
}

// A step that a quota refuses does not tell how much others use of it, but to an operator.
func TestAPipelineTellsNoUsage(t *testing.T) {
	g := newGuarded(t)
	g.apply(t, kv.Command{Op: kv.OpQuota, Key: "all/", Value: kv.QuotaLimits(4321, 0)})
	g.may("app", `key_prefix "all/mine/" { policy = "write" }`)
	for secret, told := range map[string]bool{"app": false, root: true} {
		s := g.as(secret)
		s.send("set all/mine/a "+strings.Repeat("v", 4400), "set all/mine/b 1")
		if got := s.reply(); !strings.HasPrefix(got, "-OOM ") || strings.Contains(got, "4321") != told {
			t.Errorf("%s is told %s", secret, got)
		}
		if got := s.reply(); got != "OK" {
			t.Error(got)
		}
	}
}
