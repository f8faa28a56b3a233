package main

import (
	"time"

	"tenure/server"
	"tenure/server/admission"
)

// addLimits adds the flags that bound what clients can take of the node.
func (s *settings) addLimits() {
	f, l := s.flags, &s.limits
	count := func(to *int, def, flag, usage string) { f.Var(setting(to, def, "number", parseCount), flag, usage) }
	count(&l.Conns, "16384", "max-connections",
		"most open connections of clients; fewer if the system lets this process open fewer files")
	count(&l.ConnsPerSource, "4096", "max-connections-per-source",
		"most open connections from one IPv4 address or IPv6 /64; not from loopback (see --limit-loopback)")
	count(&l.Requests, "16384", "max-requests", "most requests in flight, not counting those that wait for a change")
	count(&l.RequestsPerSource, "1024", "max-requests-per-source", "most requests in flight from one address, likewise")
	count(&l.Reserved, "0", "reserved-for-operators",
		"how many connections and requests are kept for status, health, metrics and members (0: an eighth, at "+
			"most 256)")
	count(&l.MaxWaiting, "12288", "max-waiting", "most queries and watches that wait for a change")
	count(&l.WaitingPerClient, "4096", "max-waiting-per-client", "most of one client that wait")
	f.Var(setting(&l.Loopback, "false", "bool", parseBool), "limit-loopback",
		"apply the limits for each address and client to this machine's own too")
	f.Var(setting(&l.Rate.Mode, "off", "mode", admission.ParseMode), "request-rate-mode",
		"what becomes of requests that come faster than --request-rate: nothing (off), counted and logged "+
			"(permissive), or refused (enforcing)")
	count(&l.Rate.PerSecond, "1000", "request-rate", "requests a second that one client may send")
	count(&l.Rate.Burst, "0", "request-burst", "requests that one client may send at once after a pause (0: twice "+
		"--request-rate)")
	f.Var(setting(&s.headerBytes, "64KiB", "bytes", parseBytes), "max-header-bytes",
		"longest request line and headers together, 16KiB to 1MiB")
	f.Var(setting(&l.HeaderTimeout, "10s", "duration", parseDuration), "header-timeout",
		"how long the headers of a request may take to arrive, at most 1m")
	f.Var(setting(&l.BodyTimeout, "30s", "duration", parseDuration), "body-timeout",
		"how long the body may take after that, at most 1m")
}

const (
	maxCount       = 1 << 20
	minHeaderBytes = 16 << 10 // the longest URL
	maxHeaderBytes = 1 << 20
	maxArrival     = time.Minute
)

// checkLimits refuses bounds that would leave every client unserved, or that bound nothing at all.
func (s *settings) checkLimits() error {
	l := &s.limits
	for _, b := range []struct {
		flag    string
		n, most int
	}{
		{"max-connections", l.Conns, maxCount}, {"max-connections-per-source", l.ConnsPerSource, maxCount},
		{"max-requests", l.Requests, server.MostRequests},
		{"max-requests-per-source", l.RequestsPerSource, server.MostRequests},
		{"max-waiting", l.MaxWaiting, maxCount}, {"max-waiting-per-client", l.WaitingPerClient, maxCount},
		{"request-rate", l.Rate.PerSecond, maxCount},
	} {
		if b.n < 1 || b.n > b.most {
			return badConfig("%s %d: 1 <= %s <= %d must hold", s.name(b.flag), b.n, b.flag, b.most)
		}
	}
	if most := min(l.Conns, l.Requests) / 2; l.Reserved > most {
		return badConfig("%s %d: must be at most %d, half of the smaller of max-connections and max-requests",
			s.name("reserved-for-operators"), l.Reserved, most)
	}
	if s.headerBytes < minHeaderBytes || s.headerBytes > maxHeaderBytes {
		return badConfig("%s %d: %d <= max-header-bytes <= %d must hold; use 64KiB", s.name("max-header-bytes"),
			s.headerBytes, minHeaderBytes, maxHeaderBytes)
	}
	l.MaxHeaderBytes = int(s.headerBytes)
	for _, t := range []struct {
		flag string
		d    time.Duration
	}{{"header-timeout", l.HeaderTimeout}, {"body-timeout", l.BodyTimeout}} {
		if t.d <= 0 || t.d > maxArrival {
			return badConfig("%s %v: 0 < %s <= %v must hold", s.name(t.flag), t.d, t.flag, maxArrival)
		}
	}
	return nil
}
