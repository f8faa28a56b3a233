package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/kv"
)

const gone = "-NOAUTH Authentication required: the token of this connection was deleted or has expired"

// After a revocation every later write is refused, through a node that has not heard of it, also on an open connection.
func TestARevokedTokenWritesNothingThroughALaggingNode(t *testing.T) {
	g := newGuarded(t)
	app := g.may("app", `key_prefix "" { policy = "write" }`)
	s := g.as("app")
	s.want("SET k 1", "OK")
	g.lags.Store(true)
	g.apply(t, kv.DropToken(app))
	s.want("TENURE.ONCE w 0 SET k 2", gone)
	s.want("SET k 2", gone)
	s.want("MULTI", "OK") // refuses nothing by itself
	s.want("SET k 2", gone)
	s.want("EXEC", "-EXECABORT Transaction discarded because of previous errors.")
	if g.value("k") != "1" {
		t.Error("it was written")
	}
	g.as(root).want("TENURE.ONCE w 0 SET k 3", "OK") // the key is as good as new
	s.want("HELLO 2 AUTH any root", g.as(root).hello(s))
	s.want("GET k", "3")
}

// hello returns the answer to HELLO, but with the number of another connection.
func (s *session) hello(of *session) string {
	s.t.Helper()
	of.send("RESET", "CLIENT ID")
	of.reply()
	id := of.reply()
	return "[server redis version " + redisVersion + " proto 2 id " + id + " mode standalone role master modules []]"
}

// When the log has refused a pipeline because a permission was taken away, the commands that are still allowed are
// done, once.
func TestAPipelineIsDecidedAgain(t *testing.T) {
	g := newGuarded(t)
	policy := g.policy(`key_prefix "" { policy = "write" }`)
	g.token("app", kv.Token{Policies: []string{policy}})
	s := g.as("app")
	s.want("SET a 1", "OK")
	g.lags.Store(true)
	g.apply(t, kv.PutPolicy(kv.Policy{ID: policy, Name: "narrow", Rules: `key "a" { policy = "write" }`}, false))
	s.send("INCR a", "INCR b", "INCR a", "GET b")
	for i, want := range []string{"2", "-NOPERM", "3", "-NOPERM"} {
		if got := s.reply(); !strings.HasPrefix(got, want) {
			t.Errorf("reply %d: %s, want %s", i, got, want)
		}
	}
	if g.value("a") != "3" || g.value("b") != "-" {
		t.Errorf("a %s, b %s", g.value("a"), g.value("b"))
	}
}

// A permission that another has lost costs a write one more try. While nobody can be asked it is not known whether it
// is still allowed.
func TestAnotherRevocationDoesNotRefuse(t *testing.T) {
	g := newGuarded(t)
	other := g.token("other", kv.Token{})
	s := g.as(root)
	g.lags.Store(true)
	g.apply(t, kv.DropToken(other))
	g.told()
	s.want("SET k 1", "OK")
	if writes, _ := g.told(); writes != 2 {
		t.Errorf("%d writes", writes)
	}
	third := g.token("third", kv.Token{})
	g.apply(t, kv.DropToken(third))
	g.cut.Store(true)
	s.wantPrefix("-CLUSTERDOWN not applied: not decided whether this is allowed", "SET k 2")
	s.want("GET k", "1")
}

// A token made through another node works at once, and allowed commands are carried out beside undecidable ones.
func TestALaggingNodeDoesNotRefuseWhatIsNew(t *testing.T) {
	g := newGuarded(t)
	g.set("k", "1")
	g.lags.Store(true)
	g.may("app", `key "k" { policy = "read" }`)
	s := g.as("app")
	s.want("GET k", "1")
	g.cut.Store(true)
	s.send("GET l", "GET k")
	for i, want := range []string{"-CLUSTERDOWN not applied: not decided", "1"} {
		if got := s.reply(); !strings.HasPrefix(got, want) {
			t.Errorf("reply %d: %s, want %s", i, got, want)
		}
	}
	g.as("").wantPrefix("-CLUSTERDOWN", "AUTH nobody")
}

// A read is decided by the node's state after the read: its data is never newer than the decision.
func TestAReadIsDecidedAfterItWasRead(t *testing.T) {
	for _, command := range []string{"GET k", "MGET j k", "STRLEN k", "WATCH k", "KEYS *", "SCAN 0", "DBSIZE", "TENURE.REVISION k",
		"EVALSHA 80a1b5f2cfccec3b7119ba7721d2127682b691a7 1 k v 1 1000"} {
		g := newGuarded(t)
		app := g.may("app", `key_prefix "" { policy = "write" }`)
		g.set("k", "before")
		s := g.as("app")
		change := func() {
			g.apply(t, kv.DropToken(app))
			g.set("k", "after")
		}
		g.onRead.Store(&change)
		s.want(command, gone)
	}
}

// CVE-2026-59818, on connections that stay open: subscribers get no more changes.
func TestRevocationEndsWhoIsTold(t *testing.T) {
	for _, command := range []string{"SUBSCRIBE __keyspace@0__:k", "PSUBSCRIBE *", "TENURE.WATCH k REVISION"} {
		g := newGuarded(t)
		app := g.may("app", `key_prefix "" { policy = "read" }`)
		s := g.as("app")
		s.send(strings.Replace(command, "REVISION", fmt.Sprint(g.state.Revision()), 1))
		s.reply()
		g.apply(t, kv.DropToken(app))
		s.ends()
	}
	g := newGuarded(t)
	g.token("brief", kv.Token{Policies: []string{kv.ManagementPolicy}, TTL: time.Hour,
		Expires: time.Now().Add(time.Second).UnixNano()})
	s := g.as("brief")
	s.want("PSUBSCRIBE *", "[psubscribe * 1]")
	open := g.as("brief")
	s.ends()
	open.want("GET k", gone)
}

// A client gets no change of a key that it may not read, for any subscription, and from the moment it loses the
// permission.
func TestNotificationsLeaveOutWhatMayNotBeRead(t *testing.T) {
	g := newGuarded(t)
	policy := g.policy(`key_prefix "mine/" { policy = "read" }`)
	g.token("app", kv.Token{Policies: []string{policy}})
	writer, s, watcher := g.as(root), g.as("app"), g.as("app")
	const denied = "-NOPERM this user has no permissions to access one of the channels used as arguments: "
	s.wantPrefix(denied, "SUBSCRIBE __keyspace@0__:theirs")
	s.wantPrefix(denied, "PSUBSCRIBE __keyspace@0__:theirs*")
	s.want("PSUBSCRIBE *", "[psubscribe * 1]")
	first := g.state.Revision()
	watcher.want(fmt.Sprintf("TENURE.WATCH m %d", first), fmt.Sprintf("[tenure.watch m %d]", first))
	g.as("app").wantPrefix("-NOPERM ", "TENURE.WATCH theirs 0")
	writer.want("MSET mhidden 1 mine/a 2 theirs 3", "OK")
	s.next("[pmessage * __keyspace@0__:mine/a set]")
	s.next("[pmessage * __keyevent@0__:set mine/a]")
	watcher.next(fmt.Sprintf("[tenure.change set mine/a 2 %d 1]", first+1))
	writer.want("MSET mhidden 1", "OK") // of which it learns nothing, not even when it was written
	writer.want("SET mine/b 1", "OK")
	watcher.next(fmt.Sprintf("[tenure.change set mine/b 1 %d 1]", first+3))
	s.next("[pmessage * __keyspace@0__:mine/b set]")
	s.next("[pmessage * __keyevent@0__:set mine/b]")
	g.apply(t, kv.PutPolicy(kv.Policy{ID: policy, Name: "narrow", Rules: `key "mine/b" { policy = "read" }`}, false))
	writer.want("SET mine/a 3", "OK")
	writer.want("SET mine/b 4", "OK")
	s.next("[pmessage * __keyspace@0__:mine/b set]")
	watcher.next(fmt.Sprintf("[tenure.change set mine/b 4 %d 1]", first+6))

	// Nothing that is watched may be read any more, so the watch ends.
	g.apply(t, kv.PutPolicy(kv.Policy{ID: policy, Name: "none", Rules: `key "other" { policy = "read" }`}, false))
	watcher.ends()

	secret := g.as(root)
	secret.want("SUBSCRIBE __keyspace@0__:theirs", "[subscribe __keyspace@0__:theirs 1]")
	secret.want("SUBSCRIBE __keyevent@0__:del", "[subscribe __keyevent@0__:del 2]")
	other := g.as("app")
	other.want("PUBSUB CHANNELS", "[__keyevent@0__:del]")
	other.want("PUBSUB NUMSUB __keyspace@0__:theirs", "[__keyspace@0__:theirs 0]")
	writer.want("PUBSUB NUMSUB __keyspace@0__:theirs", "[__keyspace@0__:theirs 1]")
}

// Who logs in as somebody else is told as that one.
func TestAnotherLoginIsTold(t *testing.T) {
	g := newGuarded(t)
	g.may("app", `key "k" { policy = "read" }`)
	s := g.as(root)
	s.send("HELLO 3")
	s.reply()
	s.want("SUBSCRIBE __keyspace@0__:secret __keyspace@0__:k", "[subscribe __keyspace@0__:secret 1]")
	s.reply()
	s.want("AUTH app", "OK")
	writer := g.as(root)
	writer.want("MSET secret 1 k 2", "OK")
	s.next("[message __keyspace@0__:k set]")
}
