package transport

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/certs/certstest"
	"tenure/internal/wrongport"
	"tenure/server/wire"
)

// TestClientsAtThePortForPeers: they are told which port it is, with TLS between nodes and without, and so is the log.
func TestClientsAtThePortForPeers(t *testing.T) {
	ca := certstest.New(t, "prod")
	for name, change := range map[string]func(*Config, *wire.Hello){"plain": nil, "TLS": secured(t, ca.Node(t, "node-2"))} {
		n := listen(t, 2, "", change)
		n.serve(members(1, 2))
		for request, p := range map[string]wrongport.Protocol{
			"GET /v1/kv/a HTTP/1.1\r\nHost: x\r\n\r\n": wrongport.HTTP, "PUT /v1/kv/a HTTP/1.1\r\nHost: x\r\n\r\n": wrongport.HTTP,
			"*1\r\n$4\r\nPING\r\n": wrongport.Redis,
		} {
			want := string(wrongport.Answer(p, wrongport.Peers))
			if got := said(t, n.Addr().String(), request); got != want {
				t.Errorf("%s, %q: answered %q, want %q", name, request, got, want)
			}
			n.logs.awaitAll(t, "did not finish the handshake", "speaks "+string(p), "the port for peers", string(wrongport.For(p)))
		}
		if name == "TLS" {
			atTLS(t, n.Addr().String())
		}
	}
}

// said sends request and returns all that is answered.
func said(t *testing.T, addr, request string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.WriteString(nc, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(nc)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	return string(answer)
}

// atTLS sends a request over TLS, without the certificate of a node.
func atTLS(t *testing.T, addr string) {
	t.Helper()
	offers := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}} // as curl and the Go client do
	transport := &http.Transport{TLSClientConfig: offers, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Get("https://" + addr + "/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(wrongport.Told(string(body)), "its peers") {
		t.Errorf("over TLS: %d %q %v", resp.StatusCode, body, err)
	}
}

// TestAPeerAtAPortForClients: a node that was given a peer's address for clients says so.
func TestAPeerAtAPortForClients(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(nc, make([]byte, wire.FrameHeaderBytes))
			_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
			nc.Close()
		}
	})
	n := listen(t, 1, "", nil)
	n.Serve(n, members(1, 2), map[ballot.NodeID]string{2: l.Addr().String()})
	n.logs.awaitAll(t, "what answers there is a port for clients", "--peer")
}
