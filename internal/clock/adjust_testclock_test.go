//go:build tenure_testclock

package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWrongRateAndJumps(t *testing.T) {
	w := &wrong{base: time.Hour, shown: 2 * time.Hour, ratePPM: -10_000}
	if got := w.at(time.Hour + 100*time.Second); got != 2*time.Hour+99*time.Second {
		t.Errorf("100 s at a rate of −1 %% became %v", got-2*time.Hour)
	}
	file := filepath.Join(t.TempDir(), "clock")
	defer testClock.Store(testClock.Load())
	c := New()
	for _, step := range []struct {
		text string
		jump time.Duration
	}{{"0 0", 0}, {"100000 5000000000", 5 * time.Second}, {"100000 4000000000", -time.Second}} {
		if err := os.WriteFile(file, []byte(step.text), 0o644); err != nil {
			t.Fatal(err)
		}
		before := testClock.Load().at(c.source.read())
		follow(c, file)
		if got := testClock.Load().at(c.source.read()) - before; got < step.jump || got > step.jump+time.Second/2 {
			t.Errorf("after %q the clock moved by %v", step.text, got)
		}
		if _, err := os.ReadFile(file + ".seen"); err != nil {
			t.Error(err)
		}
	}
}
