package server

import (
	"tenure/server/resp"
	"tenure/server/service"
)

// listenRedis opens the listener of the Redis protocol, if there is to be one.
func listenRedis(n *node, served service.Config) (protocol, error) {
	if n.cfg.RedisAddr == "" {
		return nil, nil
	}
	s, err := resp.New(resp.Config{Config: served, Addr: n.cfg.RedisAddr, Advertised: n.cfg.redisAdvertised(),
		Version: n.cfg.Version, TLS: n.tls.clientConfig(), RefuseFlush: !n.cfg.allowsFlush()}, n.front)
	if err != nil {
		return nil, err
	}
	return s, s.Listen()
}

// allowsFlush reports whether a client of Redis may delete all keys in one command: with tokens their permissions
// decide, and without them only clients on this machine may, unless it is allowed to all.
func (c *Config) allowsFlush() bool { return c.ACL || c.RedisFlush || isLoopback(c.RedisAddr) }
