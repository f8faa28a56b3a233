package certs

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

const pemList = "X509 CRL"

// Bounds of a file of revocation lists.
const (
	maxListBytes = 4 << 20 // some 80,000 certificates
	maxLists     = 64
)

// lists is what a file of revocation lists holds.
type lists struct {
	text    []byte
	pools   []*x509.CertPool // the authorities that the signatures were checked with
	all     []*x509.RevocationList
	revoked map[string]map[string]time.Time // when, by issuer and serial number
}

// parseLists returns the revocation lists in the PEM text of a file, at least one. Their signatures are not checked.
func parseLists(name string, b []byte) ([]*x509.RevocationList, error) {
	if len(b) > 0 && b[0] == 0x30 { // a SEQUENCE of ASN.1
		return nil, fmt.Errorf("%s is in DER form: convert it with openssl crl -inform DER -in %[1]s -out crl.pem", name)
	}
	found, err := blocks(name, b)
	if err != nil {
		return nil, err
	}
	var out []*x509.RevocationList
	for _, block := range found {
		if block.Type != pemList {
			continue
		}
		l, err := x509.ParseRevocationList(block.Bytes)
		if err == nil {
			err = direct(l)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: list %d cannot be used: %w", name, len(out)+1, err)
		}
		if out = append(out, l); len(out) > maxLists {
			return nil, fmt.Errorf("%s has more than %d lists", name, maxLists)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no revocation list in PEM form (-----BEGIN X509 CRL-----): make one with kvctl ca "+
			"revoke", name)
	}
	return out, nil
}

// direct returns an error if a list has a critical extension. All that there are make it something else than the whole
// list of its own issuer, and whoever does not know one must not use the list (RFC 5280, 5.2).
func direct(l *x509.RevocationList) error {
	extensions := slices.Clone(l.Extensions)
	for i := range l.RevokedCertificateEntries {
		extensions = append(extensions, l.RevokedCertificateEntries[i].Extensions...)
	}
	for _, e := range extensions {
		if e.Critical {
			return fmt.Errorf("it has the critical extension %v: only a whole list of its own authority is taken, and no "+
				"difference, part or indirect list", e.Id)
		}
	}
	return nil
}

// signedBy returns the authority that has signed a list. An error says what to do.
func signedBy(l *x509.RevocationList, authorities []*x509.Certificate) (*x509.Certificate, error) {
	var last error
	for _, a := range authorities {
		if !bytes.Equal(a.RawSubject, l.RawIssuer) {
			continue
		}
		if last = l.CheckSignatureFrom(a); last == nil {
			return a, nil
		}
	}
	issuer := plain(l.Issuer.String())
	switch {
	case last == nil:
		return nil, fmt.Errorf("it is that of %s, which is no authority that is known here: take the list out of the file, "+
			"or add the authority to the file of authorities", issuer)
	case errors.Is(last, x509.ConstraintViolationError{}):
		return nil, fmt.Errorf("it is that of %s, whose certificate does not allow it to sign lists: it needs cRLSign in "+
			"its keyUsage", issuer)
	}
	return nil, fmt.Errorf("it says that it is that of %s, which has not signed it: copy the file anew, or make it anew "+
		"with kvctl ca revoke", issuer)
}

// newLists returns the lists in the text of a file that authorities have signed.
func newLists(name string, text []byte, authorities []*x509.Certificate) (*lists, error) {
	all, err := parseLists(name, text)
	if err != nil {
		return nil, err
	}
	out := &lists{text: text, all: all, revoked: map[string]map[string]time.Time{}}
	for i, l := range all {
		if _, err := signedBy(l, authorities); err != nil {
			return nil, fmt.Errorf("%s: list %d is refused: %w", name, i+1, err)
		}
		out.add(l)
	}
	return out, nil
}

// add notes what is on a list. Serial numbers are those of an issuer's name, as RFC 5280 has it: an authority that is
// made anew under its name goes on with them.
func (l *lists) add(one *x509.RevocationList) {
	issuer := string(one.RawIssuer)
	if l.revoked[issuer] == nil {
		l.revoked[issuer] = make(map[string]time.Time, len(one.RevokedCertificateEntries))
	}
	for i := range one.RevokedCertificateEntries {
		e := &one.RevokedCertificateEntries[i]
		l.revoked[issuer][string(e.SerialNumber.Bytes())] = e.RevocationTime
	}
}

// when returns when a certificate was revoked; ok is false if it was not.
func (l *lists) when(c *x509.Certificate) (at time.Time, ok bool) {
	at, ok = l.revoked[string(c.RawIssuer)][string(c.SerialNumber.Bytes())]
	return at, ok
}

// good returns the ways on which no certificate is revoked, and an error if there is none.
func (l *lists) good(ways [][]*x509.Certificate) (out [][]*x509.Certificate, err error) {
	for _, way := range ways {
		bad := l.firstRevoked(way)
		if bad == nil {
			out = append(out, way)
		} else if err == nil {
			err = bad
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	return nil, err
}

func (l *lists) firstRevoked(way []*x509.Certificate) error {
	for i, c := range way {
		if at, ok := l.when(c); ok {
			return &revokedError{c, at, i > 0}
		}
	}
	return nil
}

// revokedError says that a certificate was revoked.
type revokedError struct {
	of        *x509.Certificate
	at        time.Time
	authority bool // that of an authority above the one that was shown
}

func (e *revokedError) Error() string {
	if e.authority {
		return fmt.Sprintf("the certificate of the authority %s above it was revoked on %s: use one of another authority",
			owner(e.of), day(e.at))
	}
	return fmt.Sprintf("it was revoked on %s: make another one with kvctl ca", day(e.at))
}
