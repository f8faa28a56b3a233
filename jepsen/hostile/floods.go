package hostile

import (
	"context"
	"time"
)

const bigKey = "hostile/big" // its value is what those who do not read are sent

// Short are the names of the floods of the short form.
var Short = []string{"slow-bodies", "crowd", "half-headers", "requests", "scan-peers", "tls-hellos"}

// Floods returns all floods.
func Floods() []*Flood {
	listen := func(ctx context.Context, c *conn) { c.hear(ctx) }
	return []*Flood{
		{Name: "slow-headers", Says: "500 connections send a byte of their headers every 200 ms", Effect: Cut,
			conns: 500, perSecond: 160, life: 3 * time.Second, do: slowHeaders},
		{Name: "slow-bodies", Says: "800 connections send a byte of a body of 400 kB every 200 ms", Effect: Held,
			conns: 800, perSecond: 130, life: 6 * time.Second, do: slowBodies},
		{Name: "half-open", Says: "3,000 connections on which nothing ever comes", Effect: Cut,
			conns: 3000, perSecond: 1000, life: 3 * time.Second, do: listen},
		{Name: "deaf", Says: "200 connections ask for 512 KiB again and again and read nothing", Effect: Held,
			conns: 200, perSecond: 50, life: 4 * time.Second, do: deaf},
		{Name: "dribble", Says: "10,000 connections from one address to one node, of which 1,500 may be open, " +
			"a byte each now and then",
			Effect: Limited, limit: "source_connections", one: true,
			conns: 10_000, perSecond: 2500, life: 4 * time.Second, do: dribble},
		{Name: "open", Says: "10,000 connections from 10 addresses to one node, which stay open, a byte each now and then",
			Effect: Open, one: true, from: 10, on: wide, conns: 10_000, perSecond: 2500, do: creep,
			resident: 384 << 20},
		{Name: "crowd", Says: "8,000 connections from 100 addresses to one node, on which nothing ever comes",
			Effect: Limited, limit: "connections", one: true, from: 100,
			conns: 8000, perSecond: 3000, life: 4 * time.Second, do: listen},
		{Name: "half-headers", Says: "1,000 connections send 60 KiB of short header lines and never the last",
			Effect: Refused, conns: 1000, perSecond: 400, life: 2500 * time.Millisecond, do: halfHeaders},
		{Name: "huge-headers", Says: "50 times a second headers of 1 MiB", Effect: Refused,
			conns: 32, perSecond: 50, do: hugeHeaders},
		{Name: "header-flood", Says: "2,000 requests a second with 100 headers each, to one node", Effect: Limited,
			limit: "client_rate", one: true, conns: 32, perSecond: 200, requests: 2000, do: headerFlood},
		{Name: "requests", Says: "5,000 requests a second from one address to one node", Effect: Limited,
			limit: "client_rate", one: true, conns: 64, perSecond: 200, requests: 5000, do: requests},
		{Name: "token-requests", Says: "5,000 requests a second with one token from 4 addresses to one node",
			Effect: Limited, limit: "client_rate", one: true, from: 4, on: tokens, asOne: true,
			conns: 64, perSecond: 200, requests: 5000, do: tokenRequests},
		{Name: "waits", Says: "3,000 queries from one address to one node that wait for a change", Effect: Limited,
			limit: "client_waiting", one: true, conns: 3000, perSecond: 1000, life: 3 * time.Second, do: waits},
		{Name: "scan", Says: "500 connections a second with garbage, HTTP/2 and hellos of TLS", Effect: Refused,
			conns: 100, perSecond: 500, life: 100 * time.Millisecond, do: scan},
		{Name: "scan-peers", Says: "the same on the port for peers", Effect: Cut, peers: true,
			conns: 100, perSecond: 500, life: 100 * time.Millisecond, do: scan},
		{Name: "silent-peers", Says: "1,000 connections to the port for peers on which nothing ever comes", Effect: Cut,
			peers: true, conns: 1000, perSecond: 300, life: 4 * time.Second, do: listen},
		{Name: "tls-garbage", Says: "hellos of TLS that are cut off, damaged, old or followed by nothing, 300 a second",
			Effect: Cut, on: secure, conns: 100, perSecond: 300, life: 200 * time.Millisecond, do: tlsGarbage},
		{Name: "tls-hellos", Says: "300 connections a second with TLS, each for one request that is refused",
			Effect: Refused, on: secure, conns: 64, perSecond: 300, do: tlsHellos},
	}
}
