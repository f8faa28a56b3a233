package resp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/audit"
	"tenure/server/service"
)

// The audit log has a line for each writing command, done or not, with the keys as the store sees them, and neither a
// value nor a secret.
func TestTheAuditLogHasEveryWrite(t *testing.T) {
	g := newGuarded(t)
	app := g.may("app", `key_prefix "mine/" { policy = "write" }`)
	s := g.as("app")
	s.send("SET mine/a VALUE", "GET mine/a", "SET mine/a VALUE NX", "MSET mine/b VALUE mine/c VALUE", "SET theirs VALUE",
		"RENAME mine/b mine/d", "INCR mine/a", "FLUSHALL")
	s.send("MULTI", "SET mine/m VALUE", "DEL mine/a", "EXEC", "MSETNX mine/n VALUE mine/m VALUE")
	s.send("TENURE.FENCE kv/mine/f:1 SET mine/f VALUE", "EVALSHA c3f8721cbb97f72bc19e972846bd7aaf91901658 1 mine/f VALUE")
	s.send("AUTH SECRET", "AUTH root")
	for range 17 {
		s.reply()
	}
	revision := g.state.Revision()
	s.want("SET last VALUE", "OK")
	want := []string{"set [mine/a] done ", "set [mine/a] not applied condition", "mset [mine/b mine/c] done ",
		"set [theirs] denied denied", "rename [mine/b mine/d] done ", "incr [mine/a] not applied not-number",
		"flushall [] denied denied", "set [mine/m] done ", "del [mine/a] done ",
		"msetnx [mine/n mine/m] not applied condition", "set [mine/f] done ", "evalsha [mine/f] done ",
		"auth [] denied unknown-token", "set [last] done "}
	lines := g.lines(len(want))
	seen := map[string]int{}
	for i, line := range lines {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s %v %s %s", strings.TrimPrefix(r.Act, "redis."), r.Keys, r.Outcome, r.Code)
		seen[text]++
		if strings.Contains(line, "VALUE") || strings.Contains(line, "SECRET") || strings.Contains(line, `"root"`) {
			t.Errorf("it shows a value or a secret: %s", line)
		}
		if (r.Accessor == app) != (i < len(lines)-1) || r.From != s.LocalAddr().String() || r.Node != 1 || r.Time.IsZero() {
			t.Errorf("who or when: %s", line)
		}
		if (r.Revision != 0) != (r.Outcome == audit.Done) || (r.Missing != "") != (r.Code == "denied") {
			t.Errorf("the revision, or what is missing: %s", line)
		}
		if i == len(lines)-1 && r.Revision != revision+1 {
			t.Errorf("revision %d, want %d", r.Revision, revision+1)
		}
	}
	for _, w := range want {
		if seen[w]--; seen[w] < 0 {
			t.Errorf("no line about %q", w)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d: %s", len(lines), len(want), lines)
	}
}

// Every command of the table that changes something is in the log.
func TestNothingUnsafeEscapesTheAuditLog(t *testing.T) {
	for name, lines := range samples {
		g := newGuarded(t)
		g.set("k", "1", "n", "1")
		s := g.as(root)
		revision := g.state.Revision()
		s.send(lines...)
		for range lines {
			s.reply()
		}
		if g.state.Revision() == revision {
			continue
		}
		if !table[name].acts {
			t.Errorf("%s changes something: say so in acts", name)
		}
		if line := g.lines(1)[0]; !strings.Contains(line, `"outcome":"done"`) || !strings.Contains(line, `"act":"redis.`) {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// A command refused before it runs, under a token that no longer exists, is in the log as well.
func TestTheAuditLogHasWhatIsTurnedAway(t *testing.T) {
	g := newGuarded(t)
	app := g.may("app", `key_prefix "" { policy = "write" }`)
	s := g.as("app")
	g.apply(t, kv.DropToken(app))
	s.want("GET k", gone)
	s.want("SET k 1", gone)
	s.want("MSET k 1 l 2", gone)
	s.want("SET k", gone)
	lines := g.lines(3)
	for i, act := range []string{`redis.set","keys":["k"]`, `redis.mset","keys":["k"],"more":1`, `redis.set"`} {
		if !strings.Contains(lines[i], `"accessor":"`+app+`","act":"`+act+`,"outcome":"denied","code":"unknown-token"`) {
			t.Error(lines[i])
		}
	}
}

// A script that looks before it writes is one that would have written.
func TestTheAuditLogHasScripts(t *testing.T) {
	g := newGuarded(t)
	g.may("app", `key_prefix "mine/" { policy = "write" }`)
	g.as("app").wantPrefix("-NOPERM ", "EVALSHA 80a1b5f2cfccec3b7119ba7721d2127682b691a7 1 k v 1 1000")
	if line := g.lines(1)[0]; !strings.Contains(line, `"act":"redis.evalsha","keys":["k"],"outcome":"denied"`) {
		t.Error(line)
	}
}

// The outcome is what the client was told.
func TestTheAuditLogSaysWhatIsNotKnown(t *testing.T) {
	g := newGuarded(t)
	s := g.as(root)
	g.fail = service.ErrUnknown
	s.wantPrefix("-UNKNOWN", "SET k v")
	g.fail = service.ErrNotApplied
	s.wantPrefix("-CLUSTERDOWN", "SET k v")
	g.fail = service.ErrNoSpace
	s.wantPrefix("-OOM", "SET k v")
	for i, line := range g.lines(3) {
		want := [...]string{`"outcome":"unknown","code":"unknown"`, `"outcome":"not applied","code":"not-applied"`,
			`"outcome":"not applied","code":"no-space"`}[i]
		if !strings.Contains(line, want) {
			t.Errorf("%s, want %s", line, want)
		}
	}
}

// A command that failed without a code is not in the audit log as done.
func TestOutcomeOfSteps(t *testing.T) {
	done, odd := result{code: kv.CodeDone}, result{err: errors.New("a page cannot be read")}
	for _, c := range []struct {
		results []result
		done    bool
		code    api.Code
	}{
		{nil, true, ""}, {[]result{done}, true, ""}, {[]result{odd}, false, api.CodeInternal},
		{[]result{done, odd}, true, api.CodeInternal}, {[]result{{code: kv.CodeFenced}, odd}, false, api.CodeFenced},
	} {
		if d, code := outcomeOf(c.results); d != c.done || code != c.code {
			t.Errorf("%+v: done %t, code %q", c.results, d, code)
		}
	}
}

// A command on a lease that is turned away has a line, as over HTTP, unless it only shows one. The time of a line is
// when the command came, and a fence is written as it is parsed.
func TestTheAuditLogOfLeases(t *testing.T) {
	g := newGuarded(t)
	app := g.may("app", `key_prefix "" { policy = "write" } lease_prefix "" { policy = "write" }`)
	s := g.as("app")
	before := time.Now()
	s.want("TENURE.FENCE lease/f:007 SET k v", "OK")
	s.wantPrefix("[name l", "TENURE.LEASE ACQUIRE l me 5s")
	g.apply(t, kv.DropToken(app))
	s.wantPrefix("-NOAUTH", "TENURE.LEASE GET l", "TENURE.LEASE RELEASE l me GRANT")
	want := []string{"set done lease/f:7", "tenure.lease.acquire done ", "tenure.lease denied "}
	for i, line := range g.lines(len(want)) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s %s", strings.TrimPrefix(r.Act, "redis."), r.Outcome, r.Fence); got != want[i] {
			t.Errorf("%q, want %q", got, want[i])
		}
		if r.Time.Before(before.Truncate(0)) || r.Time.After(time.Now()) {
			t.Errorf("the time of %s", line)
		}
	}
}

// slowLeases is a guarded fake whose leases take a while.
type slowLeases struct{ *guarded }

func (s slowLeases) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	time.Sleep(50 * time.Millisecond)
	return s.guarded.Lease(ctx, r)
}

// The time of a line is when the command came, not when it was done.
func TestTheTimeOfAnAuditLine(t *testing.T) {
	g := newGuarded(t)
	s := dial(t, start(t, slowLeases{g}, g.cfg))
	s.want("AUTH "+root, "OK")
	s.wantPrefix("[name l", "TENURE.LEASE ACQUIRE l me 5s WAIT 1s")
	after := time.Now()
	var r audit.Record
	if err := json.Unmarshal([]byte(g.lines(1)[0]), &r); err != nil {
		t.Fatal(err)
	}
	if after.Sub(r.Time) < 50*time.Millisecond {
		t.Errorf("it says %v before the answer", after.Sub(r.Time))
	}
}
