package compat

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenure/internal/freeport"
)

// redisUnits is the files of Redis's test suite that are about what Tenure has.
var redisUnits = []string{"type/string", "type/incr", "expire", "keyspace", "scan", "multi", "other", "protocol",
	"pubsub"}

// redisTags leaves out tests that look into a Redis server, or change how it runs.
const redisTags = "-needs:debug -needs:save -needs:repl -needs:config-maxmemory"

//go:embed redis_skipped.txt
var redisSkipped string

// Redis's own tests, which are written in Tcl, against one node of three. TENURE_COMPAT_REDIS names the directory of
// Redis's sources.
func TestRedisSuite(t *testing.T) {
	sources := os.Getenv("TENURE_COMPAT_REDIS")
	if sources == "" {
		t.Skip("TENURE_COMPAT_REDIS does not name the sources of Redis 7.0.15: see README.md")
	}
	_, addresses := startRedis(t)
	_, port, _ := strings.Cut(addresses[1], ":")
	own, err := freeport.Run(2) // the suite's own processes talk
	must(t, err)
	skipped := filepath.Join(t.TempDir(), "skipped")
	must(t, os.WriteFile(skipped, []byte(skippedNames()), 0o644))
	var passed, left int
	for _, unit := range redisUnits {
		cmd := exec.CommandContext(within(t, 5*time.Minute), "tclsh", "tests/test_helper.tcl",
			"--host", "127.0.0.1", "--port", port, "--single", "unit/"+unit, "--baseport", fmt.Sprint(own),
			"--singledb", "--ignore-encoding", "--ignore-digest", "--durable", "--dont-clean", "--clients", "1",
			"--skipfile", skipped, "--tags", redisTags)
		cmd.Dir = sources
		out, err := cmd.CombinedOutput()
		text := colours.ReplaceAllString(string(out), "")
		ok, ignored := len(passedTest.FindAllString(text, -1)), len(leftOutTest.FindAllString(text, -1))
		t.Logf("%s: %d passed, %d left out", unit, ok, ignored)
		if err != nil || ok == 0 || !strings.Contains(text, "All tests passed") {
			t.Errorf("%s: %v\n%s", unit, err, text)
		}
		passed, left = passed+ok, left+ignored
	}
	t.Logf("Redis's test suite: %d passed, %d left out", passed, left)
}

var (
	colours     = regexp.MustCompile("\x1b\\[[0-9;]*m")
	passedTest  = regexp.MustCompile(`(?m)^\[ok\]: `)
	leftOutTest = regexp.MustCompile(`(?m)^\[(skip|ignore)\]: `)
)

// skippedNames returns the tests of redis_skipped.txt, without the reasons.
func skippedNames() string {
	var names strings.Builder
	for line := range strings.Lines(redisSkipped) {
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			names.WriteString(line)
		}
	}
	return names.String()
}
