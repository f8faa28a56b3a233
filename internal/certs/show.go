package certs

import (
	"cmp"
	"crypto/x509"
	"path/filepath"
	"time"
)

// Shown is what is in a file of certificates.
type Shown struct {
	File     string
	Named    string
	Hosts    []string
	From, To time.Time
	Signs    bool   // the authority that signs
	Problem  string // "" if nothing is wrong with it now
	// List is set if it is a list of revoked certificates, whose next one should come by To.
	List *RevokedList
}

// Show returns what is in the bundle, in the lists of revoked certificates, and in the files of nodes and clients:
// those in the directory, and also those that are elsewhere.
func (d *Dir) Show(now time.Time, also ...string) ([]Shown, error) {
	var out []Shown
	pool := x509.NewCertPool()
	for _, a := range d.authorities {
		pool.AddCert(a)
		out = append(out, shown(filepath.Join(d.path, BundleName), a, now))
		out[len(out)-1].Signs = a == d.authority.Certificate
	}
	lists, err := d.Lists()
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		out = append(out, shownList(l, now))
	}
	files, err := d.Leaves()
	if err != nil {
		return nil, err
	}
	for _, name := range append(files, also...) {
		list, err := readCertificates(name)
		if err != nil {
			return nil, err
		}
		s := shown(name, list[0], now)
		s.Problem = cmp.Or(s.Problem, onList(lists, list[0]))
		_, err = list[0].Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if err != nil {
			s.Problem = why(err, now)
		}
		out = append(out, s)
	}
	return out, nil
}

func shown(file string, c *x509.Certificate, now time.Time) Shown {
	s := Shown{File: file, Named: owner(c), Hosts: Hosts(c), From: c.NotBefore, To: c.NotAfter}
	if now.After(c.NotAfter) {
		s.Problem = "it has expired"
	}
	return s
}

func shownList(l RevokedList, now time.Time) Shown {
	s := Shown{File: l.File, Named: l.Of, From: l.From, To: l.Next, List: &l}
	if now.After(l.Next) {
		s.Problem = "the next one is overdue"
	}
	return s
}

// onList says when a certificate was revoked, "" if it was not.
func onList(lists []RevokedList, c *x509.Certificate) string {
	for _, l := range lists {
		for _, e := range l.Entries {
			if l.Of == plain(c.Issuer.String()) && e.Serial == serialText(c.SerialNumber) {
				return "it was revoked on " + day(e.At)
			}
		}
	}
	return ""
}
