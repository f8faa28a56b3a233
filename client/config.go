package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The values that zero fields of Config stand for.
const (
	DefaultTimeout        = 10 * time.Second
	DefaultAttemptTimeout = 2 * time.Second
	DefaultMaxAnswerBytes = 256 << 20
)

// DefaultPort is the port of an endpoint that names none.
const DefaultPort = "8500"

// dialTimeout bounds the wait for a host that does not answer a SYN; the limit of the try applies too.
const dialTimeout = time.Second

// Config is the configuration of a Client. It does not change during the life of the Client.
type Config struct {
	// Endpoints are the client addresses of nodes, "http://host:port", "https://host:port" or "host:port"; at least one. A
	// missing port is DefaultPort, a missing scheme http, or https if anything of TLS is set. The first is tried first;
	// after that, the one that answered last.
	//
	// Endpoints should be nodes. The answer of another server in the place of a node, such as a proxy, lacks the
	// headers of a node: a read is then tried elsewhere, and a write is of unknown outcome.
	Endpoints []string
	// Timeout bounds a call, all tries together, if its context has no deadline.
	Timeout time.Duration
	// AttemptTimeout is how long a node may make no progress (take no byte and send none) before the next one is tried.
	// It does not bound a long answer that keeps arriving. A read at an endpoint that has never answered goes to the
	// next one as well after 150 ms.
	AttemptTimeout time.Duration
	// GiveUpRefused ends a call with ErrRefused when every endpoint has refused connections for so long and none has
	// answered since the Client was made: the endpoints are wrong, or nothing runs there. If the reason was TLS, the
	// error is an ErrTLS. A node's port that is not for clients counts as refusing, and so does a name that does not
	// exist. If no endpoint has a name that exists, calls end with ErrNoSuchHost at once; a name server that does not
	// answer is asked again. If all of Endpoints are nodes that have founded a cluster beside another one and so serve
	// nobody, calls end at once with the nodes' own error. 0: calls go on until their deadline.
	GiveUpRefused time.Duration
	// NoLearning makes the Client use no address but Endpoints. Without it the Client learns the client addresses of
	// the members from the nodes that answer, some seconds after they change, and goes on with those when all Endpoints
	// are gone. It also sends writes to the master's address first, see ReadsAtMaster. It keeps Endpoints, forgets
	// members that have left, and knows 64 learned addresses at most. It does not use addresses on loopback, unless one
	// of Endpoints is. Set it where nodes are to be reached by Endpoints only, such as through a balancer or a port
	// that is forwarded, and in tests of one node.
	NoLearning bool
	// ReadsAtMaster sends reads of keys that are not Stale to the master first, as writes always are where the Client
	// learns. Another node has to ask the master before it answers them, so it saves that way. It also puts the load of
	// all those reads on one node. GetWait, ListWait, KeysWait and Watch stay where they are.
	ReadsAtMaster bool
	// WatchWaits is called when a watch has had no stream from any node for ten seconds, and again each minute: for how
	// long, and how the last try failed. It is called with a nil error when the watch goes on. The watch waits until it
	// returns; several watches may call it at once. May be nil.
	WatchWaits func(d time.Duration, err error)
	// MaxAnswerBytes bounds the body of an answer. A longer answer is an error.
	MaxAnswerBytes int64
	// Token is the secret of the token that requests carry; "": none, and what the anonymous token allows is allowed.
	Token string
	// TokenFile is a file that has the secret instead. It is read again within a second of a change, and at once when
	// the secret is refused as unknown.
	TokenFile string
	// TLS is for endpoints that begin with https://. Nil is the zero TLS.
	TLS *TLS
	// DialContext opens connections; nil is plain TCP. It must not retry. TLS is spoken above it.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Validate returns an error that says what is wrong with c, or nil. Zero fields are valid, except Endpoints.
func (c Config) Validate() error {
	if len(c.Endpoints) == 0 {
		return errors.New("client: no endpoints: name at least one node as http://host:port")
	}
	for _, s := range c.Endpoints {
		if _, err := parseEndpoint(s, c.scheme()); err != nil {
			return err
		}
	}
	if c.Timeout < 0 || c.AttemptTimeout < 0 || c.MaxAnswerBytes < 0 || c.GiveUpRefused < 0 {
		return errors.New("client: a timeout or limit is negative: give a positive one, or 0 for the default")
	}
	if c.Token != "" && c.TokenFile != "" {
		return errors.New("client: a token and a file that has one: give one of them")
	}
	if err := checkSecret(c.Token); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if c.TLS != nil && (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		return errors.New("client: a certificate and its key go together: give both files, or none")
	}
	return nil
}

// scheme returns that of endpoints without one.
func (c Config) scheme() string {
	if c.TLS != nil && *c.TLS != (TLS{}) {
		return "https"
	}
	return "http"
}

// setDefaults fills zero fields.
func (c *Config) setDefaults() {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.AttemptTimeout = cmp.Or(c.AttemptTimeout, DefaultAttemptTimeout)
	c.MaxAnswerBytes = cmp.Or(c.MaxAnswerBytes, DefaultMaxAnswerBytes)
	if c.DialContext == nil {
		c.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext
	}
}

// parseEndpoint returns the URL of an endpoint, with its port, and with that scheme if it has none.
func parseEndpoint(s, scheme string) (*url.URL, error) {
	full := strings.TrimSpace(s)
	if ip := net.ParseIP(full); ip != nil && ip.To4() == nil {
		full = "[" + full + "]" // a bare IPv6 address has no port
	}
	if !strings.Contains(full, "://") {
		full = scheme + "://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("client: endpoint %q: want http://host:port or https://host:port", s)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("client: endpoint %q: port %s: ports go from 1 to 65535", s, p)
		}
	} else if _, err := strconv.ParseUint(u.Hostname(), 10, 64); err == nil {
		return nil, fmt.Errorf("client: endpoint %q is a number, not a host: for a port write 127.0.0.1:%s",
			s, u.Hostname())
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), DefaultPort)
	}
	return &url.URL{Scheme: u.Scheme, Host: host}, nil
}
