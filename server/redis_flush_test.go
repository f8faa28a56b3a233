package server

import "testing"

// Who may delete everything at once: any client on this machine, one with a token that allows it, or any client where
// the operator says so.
func TestWhoMayFlush(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   bool
	}{
		{Config{RedisAddr: "127.0.0.1:6379"}, true},
		{Config{RedisAddr: "[::1]:6379"}, true},
		{Config{RedisAddr: "localhost:6379"}, true},
		{Config{RedisAddr: "0.0.0.0:6379"}, false},
		{Config{RedisAddr: ":6379"}, false},
		{Config{RedisAddr: "redis.example:6379"}, false},
		{Config{RedisAddr: "0.0.0.0:6379", ACL: true}, true},
		{Config{RedisAddr: "0.0.0.0:6379", RedisFlush: true}, true},
	} {
		if got := c.config.allowsFlush(); got != c.want {
			t.Errorf("%s, tokens %v, allowed %v: %v", c.config.RedisAddr, c.config.ACL, c.config.RedisFlush, got)
		}
	}
}
