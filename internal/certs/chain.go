package certs

import (
	"crypto/x509"
	"fmt"
	"time"
)

// maxChain is how many certificates an end may show: its own, and up to three of authorities between it and a known
// one. For each certificate, crypto/x509 tries every other with a fitting name as the signer, up to a hundred times.
const maxChain = 4

// verify returns an error unless the first certificate of the chain was signed by one of the authorities, for one of
// the uses, is valid now and not revoked. It looks at the length of the chain before any signature. It returns the ways
// from the first certificate to an authority on which nothing is revoked.
func verify(chain []*x509.Certificate, authorities *x509.CertPool, revoked *Revocations, now time.Time,
	uses ...x509.ExtKeyUsage) ([][]*x509.Certificate, error) {
	if len(chain) > maxChain {
		return nil, fmt.Errorf("it comes with %d certificates of authorities: %d at most", len(chain)-1, maxChain-1)
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	ways, err := chain[0].Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between, CurrentTime: now,
		KeyUsages: uses})
	if err != nil {
		return nil, err
	}
	return revoked.good(ways)
}
