package access

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"testing"
)

// A common name in the audit log is not to be taken for a URI.
func TestACommonNameIsMarkedInTheAuditLog(t *testing.T) {
	for _, c := range []struct {
		cn, uri string
		want    string
	}{
		{"deploy", "tenure://prod/client/deploy", "tenure://prod/client/deploy"},
		{"tenure://prod/client/deploy", "", "CN=tenure://prod/client/deploy"},
	} {
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: c.cn}}
		if c.uri != "" {
			u, err := url.Parse(c.uri)
			if err != nil {
				t.Fatal(err)
			}
			cert.URIs = []*url.URL{u}
		}
		who := Credentials{Certificate: cert}
		if got := who.CertificateName(); got != c.want {
			t.Errorf("%q instead of %q", got, c.want)
		}
	}
}
