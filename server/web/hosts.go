package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"tenure/api"
	"tenure/internal/hostname"
	"tenure/server/service"
)

// A web page can have the browser of somebody who can reach this node send requests here. There are two ways, and both
// are closed for every request before anything of it is looked at:
//
//   - From its own origin. The browser says so (Sec-Fetch-Site, Origin), and net/http.CrossOriginProtection refuses the
//     methods that change something. It cannot read answers, since there is no CORS; but a script, picture or frame
//     that loads or does not would tell it whether a key is there, and pictures their size. So what a page of another
//     origin fetches is refused too, and only links lead here.
//   - By a name of its own that it rebinds to this node's address, so that the browser takes both for one origin. Then
//     the Host of the request is that name, and not one of the node's. An address in figures cannot be rebound.

// Hosts is the names under which clients may address the node. It is never changed.
type Hosts struct {
	names     map[string]bool        // in lower case
	certified func(name string) bool // names of the node's certificate, as it is now; nil: none
}

// NewHosts returns the Hosts with the given names and localhost. Each is one that ValidateHost accepts.
func NewHosts(names []string) Hosts {
	h := Hosts{names: map[string]bool{"localhost": true}}
	for _, name := range names {
		h.names[strings.ToLower(strings.TrimSuffix(name, "."))] = true
	}
	return h
}

// certifiedBy returns h with the names for which certified returns true; it may be nil.
func (h Hosts) certifiedBy(certified func(name string) bool) Hosts {
	h.certified = certified
	return h
}

// Serves reports whether a request with that Host header may be answered: it is one of the names, an address in
// figures, or empty, which no browser sends.
func (h Hosts) Serves(host string) bool {
	if host == "" {
		return true
	}
	name := host
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
		name = host[:i]
	}
	if h.names[name] {
		return true
	}
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")); err == nil {
		return true
	}
	bare := strings.ToLower(strings.TrimSuffix(name, "."))
	return h.names[bare] || h.certified != nil && h.certified(bare)
}

// Refusal returns what to answer to a request for another Host.
func (Hosts) Refusal(host string) string {
	return fmt.Sprintf("refused: the Host %.100q is not a name of this node: use its address, or start it with "+
		"--allowed-hosts", host)
}

// fromBrowser returns why a request must not be answered although its sender can reach this node, or nil.
func (d *dispatcher) fromBrowser(r *http.Request) error {
	switch {
	case !d.hosts.Serves(r.Host):
		return service.Refuse(api.CodeForbidden, d.hosts.Refusal(r.Host))
	case d.crossOrigin.Check(r) != nil || FetchedElsewhere(r.Header):
		return service.Refuse(api.CodeForbidden, "refused: sent by a browser from a page of another origin")
	}
	return nil
}

// forCluster returns why a request that names another cluster must not be answered, or nil. A node that takes no part
// in a cluster yet answers it by saying so.
func (d *dispatcher) forCluster(r *http.Request) error {
	names, own := r.Header[api.HeaderCluster], ""
	if len(names) > 0 {
		own = d.service.ClusterID()
	}
	if own == "" || len(names) == 1 && names[0] == own {
		return nil
	}
	return refuse(http.StatusMisdirectedRequest, api.CodeOtherCluster, fmt.Sprintf(
		"not applied: this node is of the cluster %s, and the request is for %.40q: ask another node", own, names[0]))
}

// FetchedElsewhere reports whether a page of another origin has the browser fetch something for it. Following a link is
// not that. Browsers say it to nodes on loopback and to those that speak TLS.
func FetchedElsewhere(h http.Header) bool {
	switch h.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return h.Get("Sec-Fetch-Mode") != "navigate" || h.Get("Sec-Fetch-Dest") != "document"
	}
	return false
}

// ValidateHost returns an error unless name may stand in Config.AllowedHosts.
func ValidateHost(name string) error {
	bare := strings.TrimSuffix(name, ".")
	if _, err := netip.ParseAddr(bare); err == nil {
		return fmt.Errorf("%q: addresses in figures are always allowed", name)
	}
	if !hostname.Valid(bare) {
		return fmt.Errorf("%q: must be a name such as kv.example.com, without scheme, port or *", name)
	}
	return nil
}
