package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// ends returns both ends of a connection, above which TLS is still to be spoken.
func ends(t *testing.T) (listening, dialling net.Conn) {
	t.Helper()
	listening, dialling = net.Pipe()
	for _, c := range []net.Conn{listening, dialling} {
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	return listening, dialling
}

// ofNode returns the files of a node, and their authority.
func ofNode(t *testing.T) (*Files, *Authority) {
	t.Helper()
	ca := authority(t, "prod")
	return files(t, issue(t, ca, RoleNode, "n1", time.Now()), ca), ca
}

// A hello that goes on and on ends the connection; what comes after the handshake may have any length.
func TestAHandshakeReadsLittle(t *testing.T) {
	f, _ := ofNode(t)
	cfg := Clients{Files: f, MinVersion: tls.VersionTLS13}.Config()
	listening, dialling := ends(t)
	go func() {
		piece := append([]byte{0x16, 3, 1, 0x3f, 0xff}, make([]byte, 0x3fff)...)
		copy(piece[5:], []byte{1, 0, 0xff, 0xff}) // a hello of 65,535 bytes
		for range 4 {
			if _, err := dialling.Write(piece); err != nil {
				return
			}
		}
	}()
	s := Server(listening, cfg, func() { t.Error("the handshake has ended") })
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, errHandshakeTooLong) {
		t.Errorf("a hello of 64 KiB: %v", err)
	}

	listening, dialling = ends(t)
	over := false
	s = Server(listening, cfg, func() { over = true })
	sent := bytes.Repeat([]byte("x"), 1<<20)
	go func() {
		c := tls.Client(dialling, &tls.Config{InsecureSkipVerify: true})
		_, _ = c.Write(sent)
		c.Close()
	}()
	if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, sent) || !over {
		t.Errorf("%d bytes, %v, over: %t", len(got), err, over)
	}
}

// Who shows more certificates than anybody needs is refused before one of them is tried.
func TestChainsAreBounded(t *testing.T) {
	f, ca := ofNode(t)
	now := time.Now()
	other := authority(t, "prod")
	long := []*x509.Certificate{f.Certificate().Leaf}
	for range maxChain {
		long = append(long, other.Certificate)
	}
	if _, err := f.checkPeer(long, now); err == nil || !bytes.Contains([]byte(err.Error()), []byte("at most")) {
		t.Errorf("a node with %d certificates: %v", len(long), err)
	}
	if _, err := f.checkPeer(long[:maxChain], now); err != nil {
		t.Errorf("a node with %d certificates: %v", maxChain, err)
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(ca.Certificate)
	listener := &Clients{Authorities: f}
	client := issue(t, ca, RoleClient, "c", now)
	for n, ok := range map[int]bool{0: true, maxChain - 1: true, maxChain: false} {
		shown := []*x509.Certificate{client.Leaf}
		for range n {
			shown = append(shown, other.Certificate)
		}
		if _, err := listener.checkClient(shown, authorities, now); (err == nil) != ok {
			t.Errorf("a client with %d certificates of authorities: %v", n, err)
		}
	}
	stranger := []*x509.Certificate{issue(t, other, RoleClient, "c", now).Leaf}
	if _, err := listener.checkClient(stranger, authorities, now); err == nil {
		t.Error("a client of an authority that is not known was let in")
	}
	if _, err := listener.checkClient(nil, authorities, now); err != nil {
		t.Error(err)
	}
}

// A client that comes again goes on with its session: a handshake costs the node a signature otherwise.
func TestSessionsAreResumed(t *testing.T) {
	f, _ := ofNode(t)
	cfg := Clients{Files: f, MinVersion: tls.VersionTLS13}.Config()
	ours := &tls.Config{InsecureSkipVerify: true, ServerName: "n1", ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for i := range 3 {
		listening, dialling := ends(t)
		s, c := Server(listening, cfg, func() {}), tls.Client(dialling, ours)
		go func() {
			_, _ = io.CopyN(s, s, 1)
			s.Close()
		}()
		_, err := c.Write([]byte("x"))
		if got, _ := io.ReadAll(c); err != nil || len(got) != 1 { // which reads the ticket
			t.Fatal(got, err)
		}
		if c.ConnectionState().DidResume != (i > 0) {
			t.Errorf("connection %d: resumed is %t", i, c.ConnectionState().DidResume)
		}
		c.Close()
	}
}
