package days

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0d": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour,
		"2w": 14 * 24 * time.Hour, "1d2h": 26 * time.Hour, "1w1d1s": 8*24*time.Hour + time.Second, "1d0": 24 * time.Hour,
		"12000d": 12000 * day, "106751d": 106751 * day, "15250w1d": 106751 * day,
	} {
		if got, err := Parse(text); got != want || err != nil {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "7", "d", "w", "-1d", "-1h", "1.5d", "1d1w", "1d-2h", "1d+2h", "1d2", "65535w", "x", "7D"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	for _, text := range []string{"106752d", "65535w", "15250w2d", "106751d24h", "99999999999999999999d"} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), "too long; at most 106751d") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if d, err := ParseSigned("-1h"); d != -time.Hour || err != nil {
		t.Errorf("%v %v", d, err)
	}
	for text, missing := range map[string]bool{"15": true, "1.5": true, "": false, ".": false, "15s": false, "1d2": false, "-5": false} {
		_, err := Parse(text)
		if MissesUnit(text) != missing || missing != (err != nil && strings.Contains(err.Error(), "has no unit")) {
			t.Errorf("%q: misses its unit: %v, %v", text, MissesUnit(text), err)
		}
	}
}
