package main

import (
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
