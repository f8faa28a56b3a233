package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listOf returns a list of a in PEM, with the serial numbers of certificates.
func listOf(t *testing.T, a *Authority, at time.Time, revoked ...*x509.Certificate) []byte {
	t.Helper()
	l := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: at, NextUpdate: at.Add(100 * 24 * time.Hour)}
	for _, c := range revoked {
		addEntry(l, c.SerialNumber, at)
	}
	return signedList(t, a, l)
}

func signedList(t *testing.T, a *Authority, l *x509.RevocationList) []byte {
	t.Helper()
	der, err := x509.CreateRevocationList(rand.Reader, l, a.Certificate, a.Key)
	if err != nil {
		t.Fatal(err)
	}
	return encodePEM(pemList, der)
}

// revoking has f refuse what is on lists, and returns these and their file.
func revoking(t *testing.T, f *Files, lists ...[]byte) (*Revocations, string) {
	t.Helper()
	name := write(t, filepath.Join(t.TempDir(), "crl"), join(lists))
	r, err := LoadRevocations(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return r, name
}

func join(parts [][]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// below returns an authority that a has signed, for certificates of the cluster prod.
func below(t *testing.T, a *Authority) *Authority {
	t.Helper()
	c, err := template(Identity{Cluster: "prod", Role: RoleAuthority}, now, LeafValidity)
	if err != nil {
		t.Fatal(err)
	}
	c.Subject.CommonName = "between"
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	p, err := sign(c, a.Certificate, key, a.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{Certificate: p.Leaf, Key: crypto.Signer(key)}
}

// openAuthority returns an authority that may have others below it.
func openAuthority(t *testing.T) *Authority {
	t.Helper()
	c, err := template(Identity{Cluster: "prod", Role: RoleAuthority}, now, AuthorityValidity)
	if err != nil {
		t.Fatal(err)
	}
	c.Subject.CommonName = "root"
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	p, err := sign(c, c, key, key)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{Certificate: p.Leaf, Key: crypto.Signer(key)}
}

// TestRevokedIsRefused: who is on a list of the authority that signed the certificate, or below an authority that is on
// one, is no peer and no client.
func TestRevokedIsRefused(t *testing.T) {
	root, other := openAuthority(t), authority(t, "test")
	good, bad := below(t, root), below(t, root)
	f := files(t, issue(t, root, RoleNode, "n1", now), root, other)
	chain := func(a *Authority, above ...*Authority) []*x509.Certificate {
		var out []*x509.Certificate
		id := Identity{"prod", RoleNode, "n2"}
		p, err := a.Issue(Request{Identity: id, Hosts: []string{"h"}, Validity: time.Hour}, now)
		if err != nil {
			t.Fatal(err)
		}
		for out = append(out, p.Leaf); len(above) > 0; above = above[1:] {
			out = append(out, above[0].Certificate)
		}
		return out
	}
	revoked, free, sameSerial := chain(root), chain(root), chain(root)
	chains := map[string][]*x509.Certificate{"revoked": revoked, "free": free, "of another's list": sameSerial,
		"below one": chain(good, good), "below a revoked one": chain(bad, bad)}
	lists := [][]byte{listOf(t, root, now, revoked[0], bad.Certificate), listOf(t, other, now, sameSerial[0])}
	for what, c := range chains {
		if _, err := f.checkPeer(c, now); err != nil {
			t.Errorf("%s, without lists: %v", what, err)
		}
	}
	revoking(t, f, lists...)
	listener := &Clients{Authorities: f}
	for what, want := range map[string]string{"revoked": "it was revoked on 2026-11-24 12:00 UTC", "free": "", "of another's list": "",
		"below one": "", "below a revoked one": "of the authority CN=between,O=prod above it was revoked"} {
		_, err := f.checkPeer(chains[what], now)
		_, clientErr := listener.checkClient(chains[what], f.Pool(), now)
		for _, err := range []error{err, clientErr} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", what, err, want)
			}
		}
	}
}

// TestListsThatAreRefused has one case for each reason to refuse a file of lists. The error says what to do.
func TestListsThatAreRefused(t *testing.T) {
	ours, sameName, unknown := authority(t, "prod"), authority(t, "prod"), authority(t, "test")
	f := files(t, issue(t, ours, RoleNode, "n1", now), ours)
	good := listOf(t, ours, now)
	critical := &x509.RevocationList{Number: big.NewInt(2), ThisUpdate: now, NextUpdate: now.Add(time.Hour),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}}}
	inEntry := &x509.RevocationList{Number: big.NewInt(2), ThisUpdate: now, NextUpdate: now.Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(7), RevocationTime: now,
			ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 29}, Critical: true, Value: []byte{5, 0}}}}}}
	for _, c := range []struct {
		text []byte
		want string // "": taken
	}{
		{good, ""},
		{join([][]byte{good, listOf(t, ours, now.Add(-1000*time.Hour))}), ""},
		{nil, "make one with kvctl ca revoke"},
		{bundle(ours), "has no revocation list in PEM form"},
		{[]byte{0x30, 0x82, 1, 2}, "convert it with openssl crl -inform DER"},
		{good[:len(good)-60], "copy the file anew"},
		{encodePEM(pemList, []byte("no list")), "list 1 cannot be used"},
		{join([][]byte{good, listOf(t, unknown, now)}), "list 2 is refused: it is that of"},
		{listOf(t, unknown, now), "which is no authority that is known here: take the list out"},
		{listOf(t, sameName, now), "which has not signed it"},
		{signedList(t, ours, critical), "the critical extension 2.5.29.27"},
		{signedList(t, ours, inEntry), "the critical extension 2.5.29.29"},
		{make([]byte, maxListBytes+1), "is it the right file?"},
	} {
		_, err := LoadRevocations(write(t, filepath.Join(t.TempDir(), "crl"), c.text), f)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
	if _, err := LoadRevocations("/none", nil, f); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	if _, err := LoadRevocations("/none", nil, nil); err == nil || !strings.Contains(err.Error(), "need a file of the authorities") {
		t.Error(err)
	}
}

// TestListsOfNoUseChangeNothing: a revoked certificate stays revoked while the file is damaged, gone, or signed by an
// authority that is not trusted any more. Each of these cases is reported.
func TestListsOfNoUseChangeNothing(t *testing.T) {
	ours, next := authority(t, "prod"), authority(t, "test")
	f := files(t, issue(t, ours, RoleNode, "n1", now), ours, next)
	bad := issue(t, ours, RoleNode, "n2", now).Leaf
	list := join([][]byte{listOf(t, ours, now, bad), listOf(t, next, now)})
	r, name := revoking(t, f, list)
	w := &Watcher{Files: []Source{f, r}, Now: func() time.Time { return now }}
	out := seen(w)
	w.look(true)
	for _, c := range []struct {
		file string
		text []byte
		want string // "": nothing is told
	}{
		{name, []byte("x"), "broken: "}, {name, nil, "broken: "}, {name, list, ""}, {f.paths.CA, bundle(ours), "changed; broken: "},
		{f.paths.CA, bundle(ours, next), "changed"},
	} {
		*out = nil
		write(t, c.file, c.text)
		w.look(true)
		if got := strings.Join(*out, "; "); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("told %q, want %q", got, c.want)
		}
		if _, err := f.CheckPeer(state(bad), now); err == nil || !strings.Contains(err.Error(), "revoked") {
			t.Errorf("after %q: %v", c.want, err)
		}
	}
	if w.Failures() != 3 {
		t.Errorf("%d failures", w.Failures())
	}
	write(t, name, join([][]byte{listOf(t, ours, now), listOf(t, next, now)}))
	w.look(true)
	if _, err := f.CheckPeer(state(bad), now); err != nil {
		t.Errorf("it is on the list no more: %v", err)
	}
}

// TestOverdueListsAreHeeded: a list whose next update is overdue still refuses exactly the certificates on it. From the
// last quarter of its time on, the list is reported.
func TestOverdueListsAreHeeded(t *testing.T) {
	ours := authority(t, "prod")
	f := files(t, issue(t, ours, RoleNode, "n1", now), ours)
	bad, good := issue(t, ours, RoleNode, "n2", now).Leaf, issue(t, ours, RoleNode, "n3", now).Leaf
	long := issue(t, ours, RoleNode, "n4", now).Leaf
	r, _ := revoking(t, f, listOf(t, ours, now, bad)) // for 100 days
	for days, warned := range map[int]bool{74: false, 76: true, 101: true} {
		at := now.Add(time.Duration(days) * 24 * time.Hour)
		w := &Watcher{Files: []Source{r}, Now: func() time.Time { return at }}
		out := seen(w)
		w.look(true)
		if got := strings.Join(*out, "; "); (got != "") != warned || warned && !strings.Contains(got, WhatList) {
			t.Errorf("after %d days: %q", days, got)
		}
		if _, err := f.CheckPeer(state(bad), at); err == nil {
			t.Errorf("after %d days the revoked one is taken", days)
		}
		if _, err := f.CheckPeer(state(good), at); err != nil {
			t.Errorf("after %d days: %v", days, err)
		}
	}
	revoking(t, f, listOf(t, ours, time.Now().Add(-1000*24*time.Hour), long))
	if _, err := f.CheckPeer(state(long), now); err == nil {
		t.Error("a list that was overdue when it was read is not heeded")
	}
}

// connected returns both ends of a connection of a client to a listener with c, after a handshake that the client saw
// through, and what the listener's end of it has read.
func connected(t *testing.T, cfg, client *tls.Config) (*ServerConn, *tls.Conn, error) {
	t.Helper()
	listening, dialling := overTCP(t)
	s, c := Server(listening, cfg, func() {}), tls.Client(dialling, client)
	done := make(chan error, 1)
	go func() { done <- s.HandshakeContext(t.Context()) }()
	err := errors.Join(c.HandshakeContext(t.Context()), <-done)
	t.Cleanup(func() { _ = errors.Join(s.Close(), dialling.Close()) })
	return s, c, err
}

// overTCP returns both ends of a connection that, other than a pipe, takes what nobody reads.
func overTCP(t *testing.T) (listening, dialling net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if dialling, err = net.Dial("tcp", l.Addr().String()); err == nil {
		listening, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	return listening, dialling
}

// ofClients returns a listener for clients of an authority, and a client of it that keeps its sessions.
func ofClients(t *testing.T) (a *Authority, f *Files, cfg *tls.Config, client func(Pair) *tls.Config) {
	a = authority(t, "prod")
	at := time.Now()
	f = files(t, issue(t, a, RoleNode, "n1", at), a)
	cfg = Clients{Files: f, MinVersion: tls.VersionTLS12, Authorities: f, Required: true}.Config()
	return a, f, cfg, func(p Pair) *tls.Config {
		pair, err := tls.X509KeyPair(p.Cert, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{InsecureSkipVerify: true, ServerName: "n1", Certificates: []tls.Certificate{pair},
			ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	}
}

// isCut reports whether the other end has ended a connection.
func isCut(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestRevocationEndsOpenConnections: those of a client whose certificate is revoked, and no others; and not twice.
func TestRevocationEndsOpenConnections(t *testing.T) {
	a, f, cfg, client := ofClients(t)
	at := time.Now()
	bad, good := issue(t, a, RoleClient, "bad", at), issue(t, a, RoleClient, "good", at)
	r, name := revoking(t, f, listOf(t, a, at))
	_, badConn, err := connected(t, cfg, client(bad))
	_, goodConn, err2 := connected(t, cfg, client(good))
	closed, _, err3 := connected(t, cfg, client(bad))
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	if len(r.kept) != 2 {
		t.Errorf("%d connections are known", len(r.kept))
	}
	write(t, name, listOf(t, a, at, bad.Leaf))
	if changed, err := r.Reload(); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if !isCut(badConn) || isCut(goodConn) || r.Ended() != 1 || len(r.kept) != 1 {
		t.Errorf("the revoked one is cut: %t, the other: %t; %d ended, %d are known", isCut(badConn), isCut(goodConn), r.Ended(),
			len(r.kept))
	}
}

// TestARevocationDuringTheHandshakeCounts: lists that come into use between the verification and the end of the
// handshake find no open connection to end.
func TestARevocationDuringTheHandshakeCounts(t *testing.T) {
	a, f, _, _ := ofClients(t)
	c := issue(t, a, RoleClient, "c", time.Now())
	r, name := revoking(t, f, listOf(t, a, time.Now()))
	ways, err := (&Clients{Authorities: f}).checkClient([]*x509.Certificate{c.Leaf}, f.Pool(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, listOf(t, a, time.Now(), c.Leaf))
	if _, err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	listening, _ := ends(t)
	if _, err := (&proven{&Clients{Authorities: f}, ways}).begin(listening); err == nil {
		t.Error("it was let in")
	}
}

// TestNoSessionOutlivesARevocation: a client that comes again with a session of before is refused, over TLS 1.3 and
// 1.2, also if sessions were resumed at all.
func TestNoSessionOutlivesARevocation(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, tickets := range []bool{false, true} {
			a, f, cfg, client := ofClients(t)
			c := issue(t, a, RoleClient, "c", time.Now())
			r, name := revoking(t, f, listOf(t, a, time.Now()))
			ours := client(c)
			ours.MaxVersion = version
			if tickets {
				cfg = resuming(cfg)
			}
			for i := range 2 {
				s, conn, err := connected(t, cfg, ours)
				if err == nil {
					_, err = s.Write([]byte("x")) // the ticket comes before it
				}
				if err == nil {
					_, err = conn.Read(make([]byte, 1))
				}
				if err != nil || conn.ConnectionState().DidResume != (tickets && i > 0) {
					t.Fatalf("%x, tickets %t, connection %d: resumed %t, %v", version, tickets, i, conn.ConnectionState().DidResume, err)
				}
			}
			write(t, name, listOf(t, a, time.Now(), c.Leaf))
			if _, err := r.Reload(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := connected(t, cfg, ours); err == nil {
				t.Errorf("%x, tickets %t: it was let in", version, tickets)
			}
		}
	}
}

// resuming returns a configuration like cfg that resumes sessions.
func resuming(cfg *tls.Config) *tls.Config {
	cfg = cfg.Clone()
	cfg.SessionTicketsDisabled = false
	cfg.SetSessionTicketKeys([][32]byte{{1}})
	choose := cfg.GetConfigForClient
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		now, err := choose(hello)
		if err == nil {
			now.SessionTicketsDisabled = false
			now.SetSessionTicketKeys([][32]byte{{1}})
		}
		return now, err
	}
	return cfg
}
