package cluster

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// HTTPProxies are HTTP proxies in front of nodes, on loopback. A node that does not answer is a broken connection for
// the client, as it would be without a proxy. The zero value has no proxies.
type HTTPProxies struct{ servers []*http.Server }

// Serve starts a proxy in front of a node's endpoint and returns the proxy's. Requests go to what handler returns
// for the proxy that it is given; it may set that proxy's ModifyResponse.
func (p *HTTPProxies) Serve(endpoint string, handler func(*httputil.ReverseProxy) http.Handler) (string, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	quiet := log.New(io.Discard, "", 0)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = quiet
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	s := &http.Server{ErrorLog: quiet, Handler: handler(proxy)}
	p.servers = append(p.servers, s)
	go func() { _ = s.Serve(in) }() // ends with Close
	return "http://" + in.Addr().String(), nil
}

// Close ends the proxies.
func (p *HTTPProxies) Close() {
	for _, s := range p.servers {
		_ = s.Close()
	}
}
