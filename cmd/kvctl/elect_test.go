//go:build unix

package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// background runs kvctl until stop, and gathers what it writes.
func background(t *testing.T, endpoints []string, args ...string) (out *lines, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out = &lines{more: make(chan struct{}, 1)}
	code := make(chan int)
	go func() {
		code <- run(ctx, append([]string{"--endpoints", strings.Join(endpoints, ",")}, args...), nil,
			strings.NewReader(""), out, out)
	}()
	t.Cleanup(cancel)
	return out, func() int { cancel(); return <-code }
}

// One leads at a time; the next is elected when the first goes, and whoever listens is told.
func TestElect(t *testing.T) {
	c := start(t, 1)
	heard, endHearing := background(t, c.Endpoints(), "elect", "boss", "--listen")
	heard.waitFor(t, "boss\tnobody\n")
	first, endFirst := background(t, c.Endpoints(), "elect", "boss", "--owner", "a")
	first.waitFor(t, "boss\ta\tlease/boss:"+someToken+"\n")
	heard.waitFor(t, "boss\ta\n")
	second, endSecond := background(t, c.Endpoints(), "elect", "boss", "--owner", "b", "--json")
	if o := kvctl(t, c, "", "elect", "boss", "--try"); o.code != 1 || !strings.Contains(o.errOut, `held by "a"`) {
		t.Errorf("%+v", o)
	}
	if code := endFirst(); code != 0 {
		t.Errorf("exit %d: %s", code, first.buf.String())
	}
	second.waitFor(t, `{"name":"boss","owner":"b","token":4294967298,"fence":"lease/boss:4294967298"}`)
	heard.waitFor(t, "boss\tb\n")
	c.EndLease("boss")
	second.waitFor(t, `"outcome":"lost"`)
	if code := endSecond(); code != 1 {
		t.Errorf("exit %d", code)
	}
	heard.waitFor(t, "boss\tb\nboss\tnobody\n")
	if code := endHearing(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if o := kvctl(t, c, "", "elect", "boss", "--", "sh", "-c", `echo "$TENURE_LEASE"; exit 4`); o.code != 4 ||
		o.out != "boss\n" {
		t.Errorf("%+v", o)
	}
	for _, line := range []string{"elect", "elect a b", "elect a --listen -- true", "elect a --", "elect a --wait -1s",
		"elect a --stale"} {
		if o := kvctl(t, c, "", strings.Fields(line)...); o.code != 2 {
			t.Errorf("kvctl %s: %+v", line, o)
		}
	}
}

// --timeout bounds how long elect --listen goes on.
func TestElectListensForATime(t *testing.T) {
	c := start(t, 1)
	began := time.Now()
	o := kvctl(t, c, "", "elect", "boss", "--listen", "--timeout", "700ms")
	if o.code != 0 || o.out != "boss\tnobody\n" || o.errOut != "" || time.Since(began) > 5*time.Second {
		t.Errorf("exit %d after %v, %q, %q", o.code, time.Since(began), o.out, o.errOut)
	}
	if o := against("127.0.0.1:1", "", "elect", "boss", "--listen", "--timeout", "300ms"); o.code == 0 {
		t.Errorf("without a node: %+v", o)
	}
}
