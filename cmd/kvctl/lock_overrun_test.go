package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"tenure/client/clienttest"
)

// Without a majority a lock or a lease is given up when --wait and --timeout say so.
func TestLocksAndLeasesAreGivenUpInTime(t *testing.T) {
	c := start(t, 3)
	always(c, clienttest.Hang, true)
	for line, limit := range map[string]time.Duration{
		"lease run q --wait 400ms -- true":                time.Second,
		"--timeout 1s lease run q --wait 400ms -- true":   time.Second,
		"--timeout 400ms lease run q --try -- true":       500 * time.Millisecond,
		"--timeout 400ms lease acquire q":                 500 * time.Millisecond,
		"--timeout 400ms lock q -- true":                  500 * time.Millisecond,
		"lock q --wait 400ms -- true":                     500 * time.Millisecond,
		"--timeout 400ms lock q --try -- true":            500 * time.Millisecond,
		"--timeout 400ms lock q --count 2 -- true":        500 * time.Millisecond,
		"--timeout 400ms lease acquire q --wait 400ms":    time.Second,
		"--timeout 400ms elect q --wait 400ms --owner me": time.Second,
	} {
		began := time.Now()
		o := kvctl(t, c, "", strings.Fields(line)...)
		// A second more than it may take, for a busy machine; it took several before.
		if took := time.Since(began); took > limit+time.Second || o.code != exitUnknown {
			t.Errorf("%s: exit code %d after %v: %s", line, o.code, took, o.errOut)
		}
	}
}

// --timeout bounds the wait for a lock or a lease that somebody else holds, as --wait does.
func TestTimeoutBoundsTheWaitForALock(t *testing.T) {
	c := start(t, 1)
	locked(t, c, func(cancel func()) {
		if o := kvctl(t, c, "", "lease", "acquire", "l", "--owner", "other", "--ttl", "30s"); o.code != 0 {
			t.Fatal(o.errOut)
		}
		for _, line := range []string{
			"lock job --timeout 400ms -- true", "lock job --timeout 400ms --wait 1m -- true",
			"lock job --timeout 1m --wait 400ms -- true", "lock job --timeout 400ms --json -- true",
			"lease run l --timeout 400ms -- true", "lease run l --timeout 400ms --wait 1m -- true",
			"lease run l --timeout 1m --wait 400ms -- true", "elect l --timeout 400ms", "elect l --timeout 400ms -- true",
		} {
			began := time.Now()
			var errOut bytes.Buffer
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			environ := []string{endpointsVariable + "=" + strings.Join(c.Endpoints(), ",")}
			code := run(ctx, strings.Fields(line), environ, strings.NewReader(""), io.Discard, &errOut)
			stop()
			if took := time.Since(began); code != exitFailed || !strings.Contains(errOut.String(), "held") || took > 4*time.Second {
				t.Errorf("%s: exit %d after %v: %s", line, code, took, errOut.String())
			}
		}
		cancel()
	}, "--", "sh", "-c", obedient)
}
