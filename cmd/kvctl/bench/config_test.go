package bench

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	good := Config{Op: Mixed, Mode: Default, Near: NearNone, ReadShare: 0.9, Endpoints: []string{"http://h:1"},
		Clients: 2, Conns: 1, Keys: 1, Duration: time.Second, Timeout: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Config){
		`operation "x"`:       func(c *Config) { c.Op = "x" },
		"--mode \"x\"":        func(c *Config) { c.Mode = "x" },
		"only writes":         func(c *Config) { c.Op, c.Mode = CAS, Stale },
		"--clients 0":         func(c *Config) { c.Clients = 0 },
		"--clients 16385":     func(c *Config) { c.Clients = MaxClients + 1 },
		"--conns 3":           func(c *Config) { c.Conns = 3 },
		"--conns 0":           func(c *Config) { c.Conns = 0 },
		"--keys 0":            func(c *Config) { c.Keys = 0 },
		"--keys 100000001":    func(c *Config) { c.Keys = MaxKeys + 1 },
		"--keys 10000001":     func(c *Config) { c.Op, c.Keys = CAS, MaxCASKeys+1 },
		"--value-size -1":     func(c *Config) { c.ValueSize = -1 },
		"--value-size 167772": func(c *Config) { c.ValueSize = MaxValueBytes + 1 },
		"--duration 1ms":      func(c *Config) { c.Duration = time.Millisecond },
		"--duration 25h":      func(c *Config) { c.Duration = 25 * time.Hour },
		"--warmup -1s":        func(c *Config) { c.Warmup = -time.Second },
		"--rate -1":           func(c *Config) { c.Rate = -1 },
		"--rate NaN":          func(c *Config) { c.Rate = math.NaN() },
		"--rate +Inf":         func(c *Config) { c.Rate = math.Inf(1) },
		"--read-share 1.1":    func(c *Config) { c.ReadShare = 1.1 },
		"--read-share NaN":    func(c *Config) { c.ReadShare = math.NaN() },
		"--timeout 0s":        func(c *Config) { c.Timeout = 0 },
		"--endpoints":         func(c *Config) { c.Endpoints = nil },
		"https://h:1":         func(c *Config) { c.Endpoints = []string{"https://h:1"} },
		"--prefix \"a b\"":    func(c *Config) { c.Prefix = "a b" },
		"101 bytes":           func(c *Config) { c.Prefix = strings.Repeat("p", 101) },
	} {
		c := good
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestKeysAreOfOneLength(t *testing.T) {
	for i, want := range map[int]string{0: "00000000", 7: "00000007", 123456: "00123456", MaxKeys - 1: "99999999"} {
		if got := string(appendNumber(nil, i)); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}
