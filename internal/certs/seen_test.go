package certs

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"testing"
	"time"
)

// ofClient returns a certificate of a client that nobody has signed.
func ofClient(name string, until time.Time) *x509.Certificate {
	return &x509.Certificate{NotAfter: until, Subject: pkix.Name{CommonName: name}}
}

func (s *Seen) names() (out []string) {
	for _, e := range s.Expiries() {
		out = append(out, e.Named)
	}
	slices.Sort(out)
	return out
}

// TestClientsAreForgottenAfterADay: a client is remembered with the certificate that it has shown last, while it is
// connected and for a day more.
func TestClientsAreForgottenAfterADay(t *testing.T) {
	at := now
	s := &Seen{Now: func() time.Time { return at }}
	endA, endB := s.begin(ofClient("a", now.Add(time.Hour))), s.begin(ofClient("b", now.Add(time.Hour)))
	endNew := s.begin(ofClient("a", now.Add(2*time.Hour)))
	if got := s.Expiries(); len(got) != 2 || got[0].At == got[1].At {
		t.Errorf("%v: the certificate of a is the newer one", got)
	}
	endA()
	endNew()
	at = at.Add(SeenFor - 1)
	if got := s.names(); !slices.Equal(got, []string{"CN=a", "CN=b"}) {
		t.Error(got)
	}
	at = at.Add(1)
	if got := s.names(); !slices.Equal(got, []string{"CN=b"}) {
		t.Errorf("%v: b is still connected", got)
	}
	endB()
	at = at.Add(SeenFor)
	if got := s.names(); len(got) != 0 {
		t.Error(got)
	}
}

// TestClientsThatAreSeenAreBounded: who was seen longest ago gives way.
func TestClientsThatAreSeenAreBounded(t *testing.T) {
	at := now
	s := &Seen{Now: func() time.Time { return at }}
	for i := range maxSeen + 2 {
		at = at.Add(time.Second)
		s.begin(ofClient(fmt.Sprint(i), now))()
	}
	if got := s.names(); len(got) != maxSeen || slices.Contains(got, "CN=0") || slices.Contains(got, "CN=1") ||
		!slices.Contains(got, "CN=2") {
		t.Errorf("%d, %v", len(got), got)
	}
}

// TestOnlyProvenClientsAreSeen: what nobody has signed, or somebody else has the key of, leaves no trace.
func TestOnlyProvenClientsAreSeen(t *testing.T) {
	a, f, _, client := ofClients(t)
	s := &Seen{}
	cfg := Clients{Files: f, MinVersion: tls.VersionTLS13, Authorities: f, Seen: s}.Config()
	known, unknown := issue(t, a, RoleClient, "known", time.Now()), issue(t, authority(t, "prod"), RoleClient, "unknown", time.Now())
	stolen := client(issue(t, a, RoleClient, "stolen", time.Now())) // the certificate, without its key
	stolen.Certificates[0].PrivateKey = client(known).Certificates[0].PrivateKey
	if _, _, err := connected(t, cfg, client(known)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*tls.Config{client(unknown), stolen} {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.Certificates[0], nil }
		if _, _, err := connected(t, cfg, c); err == nil {
			t.Error("a stranger was let in")
		}
	}
	if got := s.names(); !slices.Equal(got, []string{"tenure://prod/client/known"}) {
		t.Error(got)
	}
}
