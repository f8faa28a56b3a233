package web

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/service"
)

// Datacenter is the only name that `dc` may give.
const Datacenter = "dc1"

// Config is fixed for a run. A zero in any field after Registry means the default written beside it.
type Config struct {
	service.Config
	// Addr is the host:port to listen on. Beyond loopback it is refused unless there is TLS, or Insecure.
	Addr string
	// Version is shown by /v1/agent/self and in metrics; Revision too, which is the commit that was built, or "".
	Version, Revision string
	// Node is the node's number, which errors carry in X-Tenure-Node.
	Node ballot.NodeID
	// NodeName is the node's name in sessions that name none and in /v1/agent/self. Empty: node-N, N being its number.
	NodeName string
	// Insecure allows listening where others can reach the node without TLS.
	Insecure bool
	// AllowedHosts are the names by which clients may address the node, beside localhost and addresses in figures: see
	// hosts.go.
	AllowedHosts []string
	// TLS is the configuration with which clients are served over TLS; nil: plain HTTP.
	TLS *tls.Config
	// CertifiedHost reports whether the certificate of TLS is for a name: clients may address the node by such a name too.
	// Nil: for none.
	CertifiedHost func(name string) bool
	// Registry is what /metrics shows; the HTTP metrics are registered in it. Nil: one of the server's own.
	Registry *prometheus.Registry
	// SessionTTLMin is the shortest TTL that a session may have. 10 s.
	SessionTTLMin time.Duration
	// MaxHeaderBytes bounds the request line and headers together (net/http answers 431). 64 KiB.
	MaxHeaderBytes int
	// HeaderTimeout bounds how long headers may take to arrive. 10 s.
	HeaderTimeout time.Duration
	// BodyTimeout and HeaderTimeout together bound how long headers and body may take to arrive. 30 s.
	BodyTimeout time.Duration
	// ResponseTimeout bounds a request from its headers to the last byte of its answer, so that a client that does not
	// read cannot hold a snapshot open. Longer listings must be read in pages. 2 min.
	ResponseTimeout time.Duration
	// ListTimeout is how long the client of a listing may take for each piece of it, of some 16 KiB, before its
	// connection is cut: the state database cannot use pages again meanwhile. 5 s.
	ListTimeout time.Duration
	// IdleTimeout closes a connection that asks nothing. 2 min.
	IdleTimeout time.Duration
	// Heartbeat is how often a stream without events sends its position, so that the client knows that the stream
	// lives. 15 s.
	Heartbeat time.Duration
	// EventTimeout is how long a stream may take to send its events, and a backup its next piece, before the connection
	// is cut. 30 s.
	EventTimeout time.Duration
}

// Defaults of a Config.
const (
	DefaultMaxHeaderBytes = 64 << 10
	DefaultHeaderTimeout  = 10 * time.Second
	DefaultBodyTimeout    = 30 * time.Second
)

func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	c.SessionTTLMin = cmp.Or(c.SessionTTLMin, api.DefaultMinSessionTTL)
	c.MaxHeaderBytes = cmp.Or(c.MaxHeaderBytes, DefaultMaxHeaderBytes)
	c.HeaderTimeout = cmp.Or(c.HeaderTimeout, DefaultHeaderTimeout)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, DefaultBodyTimeout)
	c.ResponseTimeout = cmp.Or(c.ResponseTimeout, 2*time.Minute)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 2*time.Minute)
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	c.ListTimeout = cmp.Or(c.ListTimeout, 5*time.Second)
	c.EventTimeout = cmp.Or(c.EventTimeout, 30*time.Second)
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	return c
}

// Validate returns an error that says in one line what is wrong with c and how to mend it. It resolves no names and
// opens nothing.
func (c Config) Validate() error {
	c = c.withDefaults()
	if err := checkAddr(c.Addr, c.Insecure || c.TLS != nil); err != nil {
		return err
	}
	for _, name := range c.AllowedHosts {
		if err := ValidateHost(name); err != nil {
			return fmt.Errorf("web: allowed host %w", err)
		}
	}
	if err := c.Config.Validate(); err != nil {
		return fmt.Errorf("web: %w", err)
	}
	if c.MaxHeaderBytes < api.MaxURLBytes {
		return fmt.Errorf("web: %d bytes of headers: must be at least %d, the longest URL", c.MaxHeaderBytes, api.MaxURLBytes)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"header", c.HeaderTimeout}, {"body", c.BodyTimeout},
		{"response", c.ResponseTimeout}, {"list", c.ListTimeout}, {"idle", c.IdleTimeout},
		{"heartbeat", c.Heartbeat}, {"event", c.EventTimeout},
	} {
		if d.d < 0 {
			return fmt.Errorf("web: %s timeout of %v: must be more than 0", d.name, d.d)
		}
	}
	if c.SessionTTLMin < api.MinSessionTTL || c.SessionTTLMin > api.MaxSessionTTL {
		return fmt.Errorf("web: shortest session TTL of %v: must be from %v to %v",
			c.SessionTTLMin, api.MinSessionTTL, api.MaxSessionTTL)
	}
	if c.ResponseTimeout < c.BodyTimeout+c.ClientTimeout {
		return fmt.Errorf("web: response timeout %v is shorter than body timeout %v and client timeout %v together: "+
			"raise it, or lower those",
			c.ResponseTimeout, c.BodyTimeout, c.ClientTimeout)
	}
	return nil
}

func checkAddr(addr string, anywhere bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("web: client address %q: must be host:port: %w", addr, err)
	}
	if anywhere || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("web: client address %q is not on loopback, and there is no TLS: use 127.0.0.1, "+
		"give --tls-cert and --tls-key, or --insecure if the network is trusted", addr)
}
