package server

import (
	"tenure/server/admission"
	"tenure/server/resp"
)

// listenRedis opens the listener of the Redis protocol, if there is to be one.
func listenRedis(n *node, shared *admission.Control) (protocol, error) {
	if n.cfg.RedisAddr == "" {
		return nil, nil
	}
	s, err := resp.New(resp.Config{Addr: n.cfg.RedisAddr, Advertised: n.cfg.redisAdvertised(), Version: n.cfg.Version,
		Logger: n.log, TLS: n.tls.clientConfig(), Hub: n.hub, MaxValueBytes: n.cfg.MaxValueBytes,
		MaxLeaseTime: n.cfg.MaxLeaseTime, Access: n.access, Audit: n.audit, Slow: n.slow, Admission: shared}, n.front)
	if err != nil {
		return nil, err
	}
	return s, s.Listen()
}
