package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"tenure/internal/oslimit"
	"tenure/server/metrics"
	"tenure/server/service"
	"tenure/server/transport"
	"tenure/server/web"
)

// ports are the listeners of a node. They are opened before anything else is touched. Requests that come before the
// node serves are told what it waits for.
type ports struct {
	clients *web.Server
	served  chan error // how clients ended, of each protocol
	admin   *admin
	others  []protocol  // those that there are besides HTTP
	health  *web.Server // likewise
	peers   *transport.Transport
	removed chan string // a member says that this node is none any more; capacity 1
	closing sync.Once
}

// protocol serves clients that speak something else than HTTP.
type protocol interface {
	Serve() error
	Shutdown(context.Context) error
}

// protocols open the listeners besides HTTP's. They are configured as HTTP's is in what all have in common, and share
// its bounds on clients. A nil protocol is not asked for. To leave one out of a build, delete its line, file and
// package.
var protocols = []func(n *node, served service.Config) (protocol, error){
	listenRedis,
}

// listen opens the listeners. If one cannot be opened the others are closed again.
func (n *node) listen() (err error) {
	p := &ports{served: make(chan error, 2+len(protocols)), removed: make(chan string, 1)}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	files := openFiles()
	if n.cfg.HealthAddr != "" {
		_, files = n.cfg.Limits.healthLimits(files)
	}
	limits, fewer := n.cfg.Limits.within(files)
	if fewer {
		n.log.Warn().Int("max_connections", limits.Conns).Uint64("files", openFiles()).
			Msg("this process may not open enough files for --max-connections, so it takes fewer: raise LimitNOFILE or ulimit -n")
	}
	served := service.Config{Logger: n.log, Access: n.access, Audit: n.audit, Slow: n.slow, Hub: n.hub,
		Limits: limits.Limits, MaxValueBytes: n.cfg.MaxValueBytes, MaxLeaseTime: n.cfg.MaxLeaseTime}
	p.clients, err = web.New(web.Config{Config: served,
		Addr: n.cfg.ClientAddr, Version: n.cfg.Version, Revision: n.cfg.Revision,
		Node: n.cfg.Node, NodeName: n.cfg.NodeName, Insecure: n.cfg.Insecure, Registry: n.registry,
		SessionTTLMin: n.cfg.SessionTTLMin, AllowedHosts: n.cfg.hosts(),
		TLS: n.tls.clientConfig(), CertifiedHost: n.tls.certifies, MaxHeaderBytes: limits.MaxHeaderBytes,
		HeaderTimeout: limits.HeaderTimeout, BodyTimeout: limits.BodyTimeout,
	}, n.front)
	if err != nil {
		return err
	}
	if err := p.clients.Listen(); err != nil {
		return err
	}
	if p.admin, err = listenAdmin(n.cfg.AdminAddr, n.cfg.hosts()); err != nil {
		return err
	}
	served.Admission = p.clients.Admission()
	for _, listen := range protocols {
		other, err := listen(n, served)
		if err != nil {
			return err
		}
		if other != nil {
			p.others = append(p.others, other)
			go func() { p.served <- other.Serve() }()
		}
	}
	if err := n.listenHealth(p); err != nil {
		return err
	}
	if p.peers, err = n.listenPeers(p); err != nil {
		return err
	}
	metrics.CounterFunc(n.registry, "peer_frames_ignored_total", "Frames of a type that this version does not know.",
		func() float64 { return float64(p.peers.Stats().Ignored) })
	go func() { p.served <- p.clients.Serve() }()
	n.ports = p
	return nil
}

// listenPeers opens the listener for the other nodes, of which there may be none if Config.PeerOptional says so.
func (n *node) listenPeers(p *ports) (*transport.Transport, error) {
	cfg := transport.Config{Self: n.cfg.Node, Addr: n.cfg.PeerAddr, Hello: n.hello, Log: n.log,
		Removed: p.isRemoved, Join: n.letIn, TLS: n.tls.peerFiles()}
	t, err := transport.Listen(cfg)
	if !n.cfg.PeerOptional || !errors.Is(err, syscall.EADDRINUSE) {
		return t, err
	}
	n.log.Warn().Str("peer", n.cfg.PeerAddr).Msg("another process listens there, so this node listens for no other nodes, " +
		"and none can join it: to change that, start it with --peer HOST:PORT")
	n.cfg.PeerAddr, cfg.Addr = "", ""
	return transport.Listen(cfg)
}

// listenHealth opens the listener for those who watch over the node, if there is to be one.
func (n *node) listenHealth(p *ports) (err error) {
	if n.cfg.HealthAddr == "" {
		return nil
	}
	own, _ := n.cfg.Limits.healthLimits(openFiles())
	p.health, err = web.NewHealth(web.Config{Config: service.Config{Logger: n.log, Hub: n.hub, Limits: own},
		Addr: n.cfg.HealthAddr, Node: n.cfg.Node, NodeName: n.cfg.NodeName,
		AllowedHosts: n.cfg.hosts(), CertifiedHost: n.tls.certifies, MaxHeaderBytes: n.cfg.Limits.MaxHeaderBytes,
		HeaderTimeout: n.cfg.Limits.HeaderTimeout, BodyTimeout: n.cfg.Limits.BodyTimeout}, n.registry, n.front)
	if err != nil {
		return err
	}
	if err := p.health.Listen(); err != nil {
		return err
	}
	go func() { p.served <- p.health.Serve() }()
	return nil
}

// hosts returns the names by which clients may address this node.
func (c *Config) hosts() []string {
	names := slices.Clone(c.AllowedHosts)
	for _, addr := range []string{c.ClientAddr, c.ClientAdvertise, c.PeerAdvertise, c.HealthAddr} {
		if host, _, err := net.SplitHostPort(addr); err == nil && host != "" && net.ParseIP(host) == nil {
			names = append(names, host)
		}
	}
	if name, err := os.Hostname(); err == nil && name != "" && net.ParseIP(name) == nil {
		names = append(names, name)
	}
	return names
}

// isRemoved takes the word of a member with a newer membership that this node is not in it. Once is enough.
func (p *ports) isRemoved(text string) {
	select {
	case p.removed <- text:
	default:
	}
}

// shutdownFor is how long a stopping node lets its clients take their last answers.
const shutdownFor = 500 * time.Millisecond

// close closes what is open. Clients may take their last answers first; what is still open after shutdownFor is cut
// off.
func (p *ports) close() {
	p.closing.Do(func() {
		if p.peers != nil {
			p.peers.Close()
		}
		p.admin.close()
		if p.health != nil {
			ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
			ended := make(chan error, 1)
			go func() { ended <- p.health.Shutdown(ctx) }() // beside the others, who may take as long
			defer func() {
				<-ended // the error only says that some were cut off
				cancel()
			}()
		}
		for _, other := range p.others {
			ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
			defer cancel()
			_ = other.Shutdown(ctx) // the error only says that some were cut off
		}
		if p.clients != nil {
			ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
			defer cancel()
			_ = p.clients.Shutdown(ctx) // the error only says that some were cut off
		}
	})
}

// admin serves the profiler on its own address. It is off by default, since the profiler shows the content of memory.
type admin struct {
	listener net.Listener
	server   *http.Server
}

// listenAdmin returns nil without an address. hosts are the names by which it may be addressed.
func listenAdmin(addr string, hosts []string) (*admin, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: --admin %s: %w; choose a free port", ErrConfig, addr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	l = &oslimit.Listener{Listener: l, Told: func(error) {}} // the other listeners tell
	a := &admin{listener: l, server: &http.Server{Handler: guarded(web.NewHosts(hosts), mux), ReadHeaderTimeout: 10 * time.Second}}
	go func() { _ = a.server.Serve(l) }() // ends with close; its error only says so
	return a, nil
}

// guarded passes requests for one of the hosts on to next. It refuses all others, and requests that a browser sends for
// a page of another origin: see web.Hosts.
func guarded(hosts web.Hosts, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.Serves(r.Host) {
			http.Error(w, hosts.Refusal(r.Host), http.StatusForbidden)
			return
		}
		if web.FetchedElsewhere(r.Header) {
			http.Error(w, "refused: sent by a browser from a page of another origin", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// close may come before Serve has taken the listener over: then Server.Close leaves the listener open.
func (a *admin) close() {
	if a != nil {
		_ = errors.Join(a.server.Close(), a.listener.Close())
	}
}
