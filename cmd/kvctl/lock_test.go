//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"tenure/client/clienttest"
)

func TestLockVerb(t *testing.T) {
	c := start(t, 2)
	c.Set("k", "v")
	for _, s := range []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{[]string{"job", "--", "sh", "-c", `echo "$TENURE_FENCE $TENURE_SESSION $TENURE_LOCK $KVCTL_ENDPOINTS"`}, 0,
			"kv/job:4 " + someSession + " job " + strings.Join(c.Endpoints(), ",") + "\n", ""},
		{[]string{"job", "--", "sh", "-c", "cat; exit 7"}, 7, "input", ""},
		{[]string{"job", "--", "sh", "-c", "kill -9 $$"}, 137, "", ""},
		{[]string{"job", "--json", "--", "sh", "-c", "exit 3"}, 3, "", ""},
		{[]string{"job", "--", "no-such-program"}, 2, "", "no-such-program"},
		{[]string{"job", "sh"}, 2, "", "with the -- between"},
		{[]string{"job", "--stale", "--", "sh"}, 2, "", "--stale"},
		{[]string{"job", "--ttl", "1s", "--", "sh"}, 2, "", "Invalid Session TTL"},
		{[]string{"--", "job", "sh"}, 2, "", "with the -- between"},
	} {
		o := kvctl(t, c, "input", append([]string{"lock"}, s.args...)...)
		if o.code != s.code || o.out != s.out || !strings.Contains(o.errOut, s.err) ||
			(s.err == "") != (o.errOut == "") {
			t.Errorf("%q: exit %d, %q, %q; want %d, %q, %q", s.args, o.code, o.out, o.errOut, s.code, s.out, s.err)
		}
	}
	if n := len(c.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// locked is underway for kvctl lock.
func locked(t *testing.T, c *clienttest.Cluster, f func(cancel func()), args ...string) outcome {
	t.Helper()
	return underway(t, c, f, append([]string{"lock", "job"}, args...)...)
}

// underway runs kvctl with a command that says when it runs, and then f; it returns the exit code and what was written.
func underway(t *testing.T, c *clienttest.Cluster, f func(cancel func()), args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, w := io.Pipe()
	var errOut bytes.Buffer
	code := make(chan int)
	go func() {
		environ := []string{endpointsVariable + "=" + strings.Join(c.Endpoints(), ",")}
		n := run(ctx, args, environ, strings.NewReader(""), w, &errOut)
		_ = w.Close()
		code <- n
	}()
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); err != nil || line != "running\n" {
		t.Fatalf("%q %v, exit %d, %s", line, err, <-code, errOut.String())
	}
	f(cancel)
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{<-code, string(rest), errOut.String()}
}

const (
	obedient = `exec 2>/dev/null; trap 'echo stopped; exit 0' TERM; echo running; while :; do sleep 0.02; done`
	stubborn = `trap '' TERM; echo running; while :; do sleep 0.02; done`
)

func TestLockStopsItsCommand(t *testing.T) {
	c := start(t, 2)
	lose := func(func()) { c.Delete("job") }
	end := func(func()) { c.EndSession(c.Sessions()[0]) }
	interrupt := func(cancel func()) { cancel() }
	for _, x := range []struct {
		name   string
		f      func(func())
		script string
		code   int
		out    string
		err    string
	}{
		{"the key is deleted", lose, obedient, 1, "stopped\n", "deleted"},
		{"the session has ended", end, obedient, 1, "stopped\n", "lost"},
		{"a command that does not listen", lose, stubborn, 137, "", "lost"},
		{"interrupted", interrupt, obedient, 0, "stopped\n", ""},
		{"interrupted, and does not listen", interrupt, stubborn, 137, "", ""},
	} {
		o := locked(t, c, x.f, "--lock-delay", "0s", "--kill-after", "300ms", "--", "sh", "-c", x.script)
		if o.code != x.code || o.out != x.out || !strings.Contains(o.errOut, x.err) ||
			(x.err == "") != (o.errOut == "") {
			t.Errorf("%s: exit %d, %q, %q; want %d, %q, %q", x.name, o.code, o.out, o.errOut, x.code, x.out, x.err)
		}
		if n := len(c.Sessions()); n != 0 {
			t.Errorf("%s: %d sessions are left", x.name, n)
		}
	}
}

func TestLockThatIsHeld(t *testing.T) {
	c := start(t, 2)
	locked(t, c, func(cancel func()) {
		for _, how := range []string{"--try", "--wait=100ms"} {
			if o := kvctl(t, c, "", "lock", "job", how, "--", "true"); o.code != 1 ||
				!strings.Contains(o.errOut, ": lock job\" of node-1)") {
				t.Errorf("%s: exit %d, %q", how, o.code, o.errOut)
			}
		}
		cancel()
	}, "--", "sh", "-c", obedient)
	if o := kvctl(t, c, "", "lock", "job", "--try", "--", "true"); o.code != 0 {
		t.Errorf("afterwards: exit %d, %q", o.code, o.errOut)
	}
}

// A lock that is not free soon says what it waits for and who has it, once.
func TestLockSaysWhatItWaitsFor(t *testing.T) {
	c := start(t, 2)
	for _, count := range [][]string{nil, {"--count", "1"}} {
		locked(t, c, func(cancel func()) {
			for wait, want := range map[string]int{"200ms": 0, "2500ms": 1} {
				args := append([]string{"lock", "job", "--wait", wait}, count...)
				o := kvctl(t, c, "", append(args, "--", "true")...)
				if n := strings.Count(o.errOut, "kvctl: waiting for "); o.code != 1 || n != want {
					t.Errorf("%q: exit %d, %q", args, o.code, o.errOut)
				}
				if note, _, _ := strings.Cut(o.errOut, "\n"); want == 1 &&
					(!strings.Contains(note, " of job: ") || !strings.Contains(note, "held")) {
					t.Errorf("%q: %q", args, note)
				}
				if count == nil && strings.Contains(o.errOut, "deadline exceeded") {
					t.Errorf("%q: %q", args, o.errOut)
				}
			}
			cancel()
		}, append(count, "--", "sh", "-c", obedient)...)
	}
	if o := kvctl(t, c, "", "lock", "job", "--wait", "0s", "--", "true"); o.code != 2 ||
		!strings.Contains(o.errOut, "--try") {
		t.Errorf("--wait 0s: exit %d, %q", o.code, o.errOut)
	}
}

// A lost lock or lease ends kvctl when its command has ended, also if what is left of it cannot be cleared away.
func TestLostEndsWithItsCommand(t *testing.T) {
	for _, verb := range [][]string{{"lock", "job", "--lock-delay", "0s"}, {"lease", "run", "job", "--ttl", "1s"}} {
		c := start(t, 1)
		var lost time.Time
		o := underway(t, c, func(func()) {
			c.Inject(func(r clienttest.Request) clienttest.Fault {
				if strings.Contains(r.Path, "/session/destroy/") || strings.HasSuffix(r.Path, "/release") {
					return clienttest.Busy
				}
				return clienttest.None
			})
			lost = time.Now()
			c.Delete("job")
			c.EndLease("job")
		}, append(verb, "--", "sh", "-c", obedient)...)
		// A release that went on for as long as --timeout allows would take 10 s more.
		if took := time.Since(lost); o.code != exitFailed || !strings.Contains(o.errOut, "lost") ||
			took > 8*time.Second {
			t.Errorf("%s: exit %d after %v, %q", verb[0], o.code, took, o.errOut)
		}
	}
}

// A shared lock has so many holders and no more, and leaves nothing behind.
func TestLockCount(t *testing.T) {
	c := start(t, 2)
	locked(t, c, func(cancel func()) {
		second := kvctl(t, c, "", "lock", "job", "--count", "2", "--try", "--", "sh", "-c",
			`echo "$TENURE_LOCK $TENURE_FENCE"`)
		if second.code != 0 || second.out != "job \n" {
			t.Errorf("%+v", second)
		}
		underway(t, c, func(stop func()) {
			if o := kvctl(t, c, "", "lock", "job", "--count", "2", "--try", "--", "true"); o.code != 1 ||
				!strings.Contains(o.errOut, "all places are held (2): ") {
				t.Errorf("%+v", o)
			}
			stop()
		}, "lock", "job", "--count", "2", "--", "sh", "-c", obedient)
		if o := kvctl(t, c, "", "lock", "job", "--count", "3", "--", "true"); o.code != 1 ||
			!strings.Contains(o.errOut, "limit of 2, not 3") {
			t.Errorf("%+v", o)
		}
		cancel()
	}, "--count", "2", "--", "sh", "-c", obedient)
	if o := kvctl(t, c, "", "count"); o.out != "0\n" || len(c.Sessions()) != 0 {
		t.Errorf("%s keys and %d sessions are left", o.out, len(c.Sessions()))
	}
	if o := kvctl(t, c, "", "lock", "job", "--count", "0", "--", "true"); o.code != 2 ||
		!strings.Contains(o.errOut, "--count 0") {
		t.Errorf("%+v", o)
	}
}
