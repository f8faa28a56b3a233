//go:build unix

package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

const someToken = "4294967297" // the first of a pretended cluster

// TestLeaseVerbs plays a script of somebody who renews and releases by himself. GRANT is the newest grant, printed by
// the last command that printed one.
func TestLeaseVerbs(t *testing.T) {
	c := start(t, 2)
	grant := ""
	for _, x := range []struct {
		line string
		code int
		out  string // GRANT is whatever is new
		err  string
	}{
		{"lease show job", 1, "", "not found"},
		{"lease acquire job --owner me --ttl 30s --acquisition one", 0, "GRANT\tlease/job:" + someToken + "\n", ""},
		{"lease acquire job --owner me --ttl 30s --acquisition one", 0, "GRANT\tlease/job:" + someToken + "\n", ""},
		{"lease list", 0, "NAME  OWNER  TOKEN       LEFT\njob   me     4294967297  ", ""},
		{"lease ls jo --json", 0, `{"leases":[{"name":"job","owner":"me","token":4294967297,"remaining_ms":`, ""},
		{"lease list x", 0, "", "no lease was found"},
		{"lease show job", 0, "held by me, token " + someToken + ", for another ", ""},
		{"lease show job --json", 0, `{"name":"job","owner":"me","token":` + someToken + `,"remaining_ms":2`, ""},
		{"lease acquire job --owner you", 1, "", `busy: it is held by "me"`},
		{"lease acquire job --owner you --wait 50ms --json", 1, "", `"outcome":"busy"`},
		{"lease renew job GRANT --owner me", 0, "GRANT\tlease/job:" + someToken + "\n", ""},
		{"lease renew job GRANT --owner me --ttl 20s --json", 0,
			`{"name":"job","owner":"me","token":` + someToken + `,"fence":"lease/job:` + someToken + `","grant":"`, ""},
		{"lease release job GRANT --owner me", 0, "lease job released\n", ""},
		{"lease release job GRANT --owner me --json", 0, `{"name":"job"}` + "\n", ""},
		{"lease renew job GRANT --owner me", 1, "", "lost"},
		{"lease acquire job --owner me --acquisition two", 0, "GRANT\tlease/job:4294967298\n", ""},
		{"lease release job --owner me --acquisition two", 0, "lease job released\n", ""},
		{"lease show job --json", 1, "", `"outcome":"not found"`},

		{"lease", 2, "", "acquire, renew, release, show, list, run"},
		{"lease acquire", 2, "", "arg"},
		{"lease acquire job --ttl 1ms", 2, "", "100ms"},
		{"lease acquire job --wait -1s", 2, "", "--wait"},
		{"lease acquire job --stale", 2, "", "--stale"},
		{"lease show job --consistent", 2, "", "hint"},
		{"lease list a b", 2, "", "arg"},
		{"lease list --limit -1", 2, "", "--limit"},
		{"lease list --stale", 2, "", "hint"},
		{"lease renew job", 2, "", "arg"},
		{"lease renew job GRANT --ttl -1s", 2, "", "--ttl"},
		{"lease release job", 2, "", "--acquisition"},
		{"lease release job GRANT --acquisition one", 2, "", "one of them"},
		{"lease acquire " + strings.Repeat("n", 257), 2, "", "256"},
	} {
		o := kvctl(t, c, "", strings.Fields(strings.ReplaceAll(x.line, "GRANT", grant))...)
		if want, ok := strings.CutPrefix(x.out, "GRANT"); ok {
			next, rest, _ := strings.Cut(o.out, "\t")
			if next == grant || "\t"+rest != want {
				t.Errorf("kvctl %s: %q, grant %q", x.line, o.out, grant)
			}
			grant, o.out = next, x.out
		}
		if o.code != x.code || !strings.HasPrefix(o.out, x.out) || !strings.Contains(o.errOut, x.err) ||
			(x.err == "") != (o.errOut == "") {
			t.Errorf("kvctl %s: exit %d, %q, %q; want %d, %q, %q", x.line, o.code, o.out, o.errOut, x.code, x.out,
				x.err)
		}
	}
}

// TestLeaseOutcomeUnknown: the same command again settles it, if it has an acquisition of its own.
func TestLeaseOutcomeUnknown(t *testing.T) {
	c := start(t, 1)
	always(c, clienttest.UnknownApplied, true)
	line := []string{"lease", "acquire", "job", "--timeout", "300ms", "--acquisition", "one"}
	if o := kvctl(t, c, "", line...); o.code != exitUnknown || !strings.Contains(o.errOut, "may have been granted") {
		t.Fatalf("exit %d, %q", o.code, o.errOut)
	}
	always(c, clienttest.None, true)
	if o := kvctl(t, c, "", line...); o.code != exitDone || !strings.Contains(o.out, someToken) {
		t.Fatalf("exit %d, %q, %q", o.code, o.out, o.errOut)
	}
}

func TestLeaseRun(t *testing.T) {
	c := start(t, 2)
	for _, s := range []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{[]string{"a b", "--", "sh", "-c", `echo "$TENURE_FENCE $TENURE_TOKEN $TENURE_LEASE $KVCTL_ENDPOINTS"`}, 0,
			"lease/a b:" + someToken + " " + someToken + " a b " + strings.Join(c.Endpoints(), ",") + "\n", ""},
		{[]string{"job", "--", "sh", "-c", "cat; exit 7"}, 7, "input", ""},
		{[]string{"job", "--", "sh", "-c", "kill -9 $$"}, 137, "", ""},
		{[]string{"job", "--", "no-such-program"}, 2, "", "no-such-program"},
		{[]string{"job", "sh"}, 2, "", "with the -- between"},
		{[]string{"job", "--stale", "--", "sh"}, 2, "", "--stale"},
		{[]string{"job", "--wait", "-1s", "--", "sh"}, 2, "", "--wait"},
		{[]string{"job", "--ttl", "10ms", "--", "sh"}, 2, "", "100ms"},
	} {
		o := kvctl(t, c, "input", append([]string{"lease", "run"}, s.args...)...)
		if o.code != s.code || o.out != s.out || !strings.Contains(o.errOut, s.err) ||
			(s.err == "") != (o.errOut == "") {
			t.Errorf("%q: exit %d, %q, %q; want %d, %q, %q", s.args, o.code, o.out, o.errOut, s.code, s.out, s.err)
		}
	}
	if left := c.Leases(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLeaseRunStopsItsCommand(t *testing.T) {
	c := start(t, 2)
	for _, x := range []struct {
		name   string
		f      func(cancel func())
		script string
		code   int
		out    string
		err    string
	}{
		{"the lease is released by somebody", func(func()) { c.EndLease("job") }, obedient, 1, "stopped\n", "has ended"},
		{"a command that does not listen", func(func()) { c.EndLease("job") }, stubborn, 137, "", "has ended"},
		{"no node answers", func(func()) { always(c, clienttest.Hang, false) }, obedient, 1, "stopped\n",
			"could not be renewed in time"},
		{"interrupted", func(cancel func()) { cancel() }, obedient, 0, "stopped\n", ""},
	} {
		o := underway(t, c, x.f, "lease", "run", "job", "--ttl", "500ms", "--timeout", "300ms", "--kill-after", "300ms",
			"--", "sh", "-c", x.script)
		always(c, clienttest.None, false)
		if o.code != x.code || o.out != x.out || !strings.Contains(o.errOut, x.err) ||
			(x.err == "") != (o.errOut == "") {
			t.Errorf("%s: exit %d, %q, %q; want %d, %q, %q", x.name, o.code, o.out, o.errOut, x.code, x.out, x.err)
		}
	}
}

func TestLeaseRunThatMustWait(t *testing.T) {
	c := start(t, 2)
	underway(t, c, func(cancel func()) {
		for _, how := range []string{"--try", "--wait=100ms"} {
			o := kvctl(t, c, "", "lease", "run", "job", how, "--owner", "you", "--", "true")
			if o.code != 1 || !strings.Contains(o.errOut, `held by "me"`) {
				t.Errorf("%s: exit %d, %q", how, o.code, o.errOut)
			}
		}
		for _, command := range [][]string{{"lease", "run", "job"}, {"elect", "job"}} {
			args := append(command, "--wait", (waitNoteAfter * 3 / 2).String(), "--owner", "you", "--", "true")
			if o := kvctl(t, c, "", args...); o.code != 1 || !strings.Contains(o.errOut, "kvctl: waiting for the lease job\n") {
				t.Errorf("%s: exit %d, %q", command, o.code, o.errOut)
			}
		}
		cancel()
	}, "lease", "run", "job", "--owner", "me", "--", "sh", "-c", obedient)
	if o := kvctl(t, c, "", "lease", "run", "job", "--try", "--", "true"); o.code != 0 {
		t.Errorf("afterwards: exit %d, %q", o.code, o.errOut)
	}
}

// TestOwner is the same for each command of a user on a host: a grant is of one owner.
func TestOwner(t *testing.T) {
	a := newApp([]string{"HOME=/root", "USER=ada"}, nil, io.Discard, io.Discard)
	if o := a.ownerOr(""); !strings.HasPrefix(o, "ada@") || a.ownerOr("me") != "me" {
		t.Errorf("%q", o)
	}
}

// After a restart of all nodes leases cannot be acquired for a while: who does not want to wait is told so at once, who
// waits is told why.
func TestLeaseAfterARestart(t *testing.T) {
	c := start(t, 2)
	c.SilenceLeases(time.Minute)
	for _, line := range []string{"lease run job --try -- true", "lease acquire job"} {
		began := time.Now()
		o := kvctl(t, c, "", strings.Fields(line)...)
		if o.code != 1 || !strings.Contains(o.errOut, "no lease can be granted for another ") ||
			strings.Count(o.errOut, "\n") != 1 ||
			time.Since(began) > 5*time.Second {
			t.Errorf("kvctl %s: code %d after %v, %q", line, o.code, time.Since(began), o.errOut)
		}
	}
	c.SilenceLeases(500 * time.Millisecond)
	o := kvctl(t, c, "", "lease", "run", "job", "--", "true")
	if o.code != 0 || !strings.HasPrefix(o.errOut, "kvctl: no lease can be granted for another ") ||
		!strings.Contains(o.errOut, "nodes have restarted") {
		t.Errorf("code %d, %q", o.code, o.errOut)
	}
}

// The fence of a lease is printed so that --fence takes it, whatever the lease is called. With another name it would
// protect nothing.
func TestTheFenceOfAnOddName(t *testing.T) {
	c := start(t, 1)
	for i, name := range []string{"job\u202e1", "a\nb", "\x1b[31mred", `"quoted"`, "two words", "plain"} {
		o := kvctl(t, c, "", "lease", "acquire", name, "--owner", "me")
		_, fence, ok := strings.Cut(strings.TrimSuffix(o.out, "\n"), "\t")
		if o.code != 0 || !ok || strings.ContainsAny(fence, "\n\x1b\u202e") {
			t.Fatalf("%q: %+v", name, o)
		}
		if o := kvctl(t, c, "", "set", "k", "mine", "--fence", fence); o.code != 0 {
			t.Fatalf("%q, %s: %+v", name, fence, o)
		}
		newer := client.Fence{Name: "lease/" + name, Token: 1 << 62}.String()
		if o := kvctl(t, c, "", "set", "k", "newer", "--fence", newer); o.code != 0 {
			t.Fatalf("%q: %+v", newer, o)
		}
		if o := kvctl(t, c, "", "set", "k", "late", "--fence", fence); o.code == 0 || !strings.Contains(o.errOut, "fenced") {
			t.Errorf("%d: %q: a late write under %s: %+v", i, name, fence, o)
		}
	}
}
