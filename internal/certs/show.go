package certs

import (
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
}

// Show returns what is in the bundle and in the files of nodes and clients.
func (d *Dir) Show(now time.Time) ([]Shown, error) {
	var out []Shown
	pool := x509.NewCertPool()
	for _, a := range d.authorities {
		pool.AddCert(a)
		out = append(out, shown(filepath.Join(d.path, BundleName), a, now))
		out[len(out)-1].Signs = a == d.authority.Certificate
	}
	files, err := d.Leaves()
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := readFile(name)
		if err != nil {
			return nil, err
		}
		list, err := parseCertificates(name, text)
		if err != nil {
			return nil, err
		}
		s := shown(name, list[0], now)
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
