package audit

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// deniedEach is the default of Config.DeniedEach: the number of denied requests in a second that get a line of their
// own, for each source. Without this bound a stranger without a token could flush the log with denied requests.
const deniedEach = 20

// maxDeniedSources bounds the sources that are told apart in a second. All others are one.
const maxDeniedSources = 1024

// denials counts denied requests by source.
type denials struct {
	each  int // lines a second, for each source
	since time.Time
	of    map[string]int // requests since then
	late  *time.Timer    // tells of those without a line, if no other act does; nil: there are none
}

// takes reports whether a request from that address, which was denied, gets a line.
func (d *denials) takes(from string) bool {
	source := sourceOf(from)
	if _, known := d.of[source]; !known && len(d.of) >= maxDeniedSources {
		source = "others"
	}
	if d.of == nil {
		d.of = make(map[string]int)
	}
	d.of[source]++
	return d.of[source] <= d.each
}

// over begins the next second, if it is time or the log ends. It returns records that count the requests without a line
// in the last second.
func (d *denials) over(now time.Time, ends bool) (told []Record) {
	if !ends && now.Sub(d.since) < time.Second {
		return nil
	}
	for _, source := range slices.Sorted(maps.Keys(d.of)) {
		if n := d.of[source] - d.each; n > 0 {
			told = append(told, Record{Time: now, From: source, Act: actDenied, Outcome: Denied, Denied: uint64(n)})
		}
	}
	clear(d.of)
	d.since = now
	return told
}

// sourceOf returns the address of HOST:PORT, or the network of an IPv6 address: the holder of one address of a /64 has
// all of them.
func sourceOf(from string) string {
	at, err := netip.ParseAddrPort(from)
	if err != nil {
		return "unknown"
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() && !a.IsLoopback() {
		return netip.PrefixFrom(a, 64).Masked().String()
	}
	return a.String()
}
