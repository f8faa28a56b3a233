package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/clock"
)

// What a zero field of Config stands for.
const (
	DefaultTimeout        = 10 * time.Second
	DefaultAttemptTimeout = 2 * time.Second
	DefaultMaxAnswerBytes = 256 << 20
)

// DefaultPort is that of an endpoint that names none.
const DefaultPort = "8500"

const (
	dialTimeout = time.Second // a host that does not answer a SYN; the attempt's limit applies too
	// maxIdleConnsPerHost is how many calls to one node may be under way together without connections being closed
	// after each and opened for the next.
	maxIdleConnsPerHost = 2048
	idleConnTimeout     = 60 * time.Second
)

// Config is fixed for the life of a Client.
type Config struct {
	// Endpoints are the client addresses of nodes, "http://host:port" or "host:port", at least one; a port that is left
	// out is DefaultPort. The first is tried first; after that, the one that answered last.
	Endpoints []string
	// Timeout bounds a call, all its tries together, whose context has no deadline of its own.
	Timeout time.Duration
	// AttemptTimeout is how long a node may make no progress (accept no byte and send none) before the next one is
	// tried. It does not bound a long answer that keeps coming.
	AttemptTimeout time.Duration
	// GiveUpRefused ends a call with ErrRefused when every endpoint has refused to be connected to for so long and none
	// has answered since the Client was made: the endpoints are wrong, or nothing runs there. 0: a call goes on until
	// its time is over.
	GiveUpRefused time.Duration
	// MaxAnswerBytes bounds the body of an answer; a longer one is an error that says to list in pages.
	MaxAnswerBytes int64
	// DialContext opens connections; nil is plain TCP. It must not retry.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Validate says what is wrong with c, or nil. Zero fields are fine except Endpoints.
func (c Config) Validate() error {
	if len(c.Endpoints) == 0 {
		return errors.New("client: no endpoints: name at least one node as http://host:port")
	}
	for _, s := range c.Endpoints {
		if _, err := parseEndpoint(s); err != nil {
			return err
		}
	}
	if c.Timeout < 0 || c.AttemptTimeout < 0 || c.MaxAnswerBytes < 0 || c.GiveUpRefused < 0 {
		return errors.New("client: a timeout or limit is negative: give a positive one, or 0 for the default")
	}
	return nil
}

// Client talks to one cluster. All methods are safe for concurrent use.
type Client struct {
	cfg       Config
	endpoints []*url.URL
	transport *http.Transport
	prefer    atomic.Int32 // index of the endpoint to try first
	seen      seen
	answered  atomic.Bool // some endpoint has answered
	// elapsed reads the clock that sessions and leases are reckoned on, which goes on while the machine sleeps. Only
	// the first of them asks for it, since it needs a kernel that has one.
	elapsed func() func() time.Duration
	keeper  func() *keeper         // of all leases; made when it is first needed
	kept    atomic.Pointer[keeper] // once it was made
}

// New checks cfg and makes a client. It does not connect yet.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.AttemptTimeout == 0 {
		cfg.AttemptTimeout = DefaultAttemptTimeout
	}
	if cfg.MaxAnswerBytes == 0 {
		cfg.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	if cfg.DialContext == nil {
		cfg.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext
	}
	c := &Client{cfg: cfg}
	c.elapsed = sync.OnceValue(func() func() time.Duration { return clock.New().Now })
	c.keeper = sync.OnceValue(c.newKeeper)
	for _, s := range cfg.Endpoints {
		u, err := parseEndpoint(s)
		if err != nil {
			return nil, err
		}
		c.endpoints = append(c.endpoints, u)
	}
	// No proxy from the environment: an endpoint is a node, and one that stands for several would hide which has
	// failed.
	c.transport = &http.Transport{
		DialContext:         counted(cfg.DialContext),
		MaxIdleConnsPerHost: maxIdleConnsPerHost,
		IdleConnTimeout:     idleConnTimeout,
		DisableCompression:  true,
	}
	return c, nil
}

// Close drops the idle connections and stops renewing leases: those that were not released are lost, and run out. Calls
// under way go on.
func (c *Client) Close() {
	if k := c.kept.Load(); k != nil {
		k.close()
	}
	c.transport.CloseIdleConnections()
}

// Endpoints are the endpoints as URLs, in the order of the Config.
func (c *Client) Endpoints() []string {
	out := make([]string, len(c.endpoints))
	for i, u := range c.endpoints {
		out[i] = u.String()
	}
	return out
}

// bounded gives ctx the configured timeout if it has no deadline.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.cfg.Timeout)
}

func parseEndpoint(s string) (*url.URL, error) {
	full := strings.TrimSpace(s)
	if ip := net.ParseIP(full); ip != nil && ip.To4() == nil {
		full = "[" + full + "]" // nobody writes a port behind a bare IPv6 address
	}
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err == nil && u.Scheme == "https" {
		return nil, fmt.Errorf("client: endpoint %q: there is no TLS yet: write http://%s", s, u.Host)
	}
	if err != nil || u.Hostname() == "" || u.Scheme != "http" ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("client: endpoint %q: want http://host:port", s)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("client: endpoint %q: port %s: ports go from 1 to 65535", s, p)
		}
	} else if _, err := strconv.ParseUint(u.Hostname(), 10, 64); err == nil {
		return nil, fmt.Errorf("client: endpoint %q is a number, not a host: for a port write 127.0.0.1:%s", s, u.Hostname())
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), DefaultPort)
	}
	return &url.URL{Scheme: u.Scheme, Host: host}, nil
}
