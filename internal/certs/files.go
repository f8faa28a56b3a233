package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Paths name the files of one end of TLS, in PEM. Cert may have certificates of intermediate authorities behind the
// first. Cert and Key go together, and may be the same file; CA is the bundle of the authorities whose certificates are
// taken from others. Either may be missing.
type Paths struct{ Cert, Key, CA string }

// IsZero reports whether p names no file.
func (p Paths) IsZero() bool { return p == Paths{} }

// Files are the certificate, the key and the authorities in files, as of the last successful reading: invalid new
// content changes nothing. All methods are safe for concurrent use.
type Files struct {
	paths  Paths
	check  func(*x509.Certificate) error
	ofNode bool // see LoadNode
	now    atomic.Pointer[content]
	// revoked says which certificates are refused although one of the authorities has signed them. Nil: none.
	revoked *Revocations

	mu sync.Mutex // held while the files are read
}

// content is what the files hold.
type content struct {
	text        [3][]byte // of Cert, Key and CA
	certificate *tls.Certificate
	identity    Identity // of the certificate; zero if it has none
	authorities []*x509.Certificate
	pool        *x509.CertPool // of authorities; nil without CA
}

// Load reads the files. check may refuse a certificate, now and whenever it has changed; it may be nil.
func Load(paths Paths, check func(*x509.Certificate) error) (*Files, error) {
	return load(&Files{paths: paths, check: check})
}

// load reads the files for the first time.
func load(f *Files) (*Files, error) {
	if (f.paths.Cert == "") != (f.paths.Key == "") {
		return nil, errors.New("a certificate and its key go together: name both files")
	}
	if _, err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Reload reads the files again. It reports whether anything has changed. After an error everything is as before.
func (f *Files) Reload() (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next, err := f.read()
	if err != nil {
		return false, err
	}
	if old := f.now.Load(); old != nil && same(old.text, next.text) {
		return false, nil
	}
	if err := f.parse(next); err != nil {
		return false, err
	}
	f.now.Store(next)
	return true, nil
}

func same(a, b [3][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (f *Files) read() (*content, error) {
	c := &content{}
	for i, name := range [...]string{f.paths.Cert, f.paths.Key, f.paths.CA} {
		if name == "" {
			continue
		}
		b, err := readFile(name)
		if err != nil {
			return nil, err
		}
		c.text[i] = b
	}
	return c, nil
}

func (f *Files) parse(c *content) error {
	if f.paths.Cert != "" {
		list, err := parseCertificates(f.paths.Cert, c.text[0])
		if err != nil {
			return err
		}
		key, err := parseKey(f.paths.Key, c.text[1])
		if err != nil {
			return err
		}
		if err := checkPair(f.paths, list, key); err != nil {
			return err
		}
		pair := tls.Certificate{PrivateKey: key, Leaf: list[0]}
		for _, one := range list {
			pair.Certificate = append(pair.Certificate, one.Raw)
		}
		if f.check != nil {
			if err := f.check(pair.Leaf); err != nil {
				return fmt.Errorf("the certificate in %s: %w", f.paths.Cert, err)
			}
		}
		c.certificate = &pair
		c.identity, _ = IdentityOf(pair.Leaf) // only some ends need one, and their check asks for it
	}
	if f.paths.CA == "" {
		return nil
	}
	var err error
	if c.authorities, err = parseCertificates(f.paths.CA, c.text[2]); err != nil {
		return err
	}
	c.pool = x509.NewCertPool()
	for _, a := range c.authorities {
		c.pool.AddCert(a)
	}
	if f.ofNode {
		return c.fits(f.paths)
	}
	return nil
}

// Paths returns the names of the files.
func (f *Files) Paths() Paths { return f.paths }

// Certificate returns the certificate with its key, nil if there is none. It must not be changed.
func (f *Files) Certificate() *tls.Certificate { return f.now.Load().certificate }

// Identity returns that of the certificate, zero if it names none.
func (f *Files) Identity() Identity { return f.now.Load().identity }

// Pool returns the authorities, nil if no file names any.
func (f *Files) Pool() *x509.CertPool { return f.now.Load().pool }

// Expiry is when something in a file expires.
type Expiry struct {
	File  string
	What  string // WhatCertificate, WhatAuthority or WhatList
	Named string // whose it is
	At    time.Time
	// WarnBefore is how long before that it is complained about.
	WarnBefore time.Duration
}

// What expires. A list of revoked certificates is heeded all the same when its next update is overdue.
const (
	WhatCertificate = "certificate"
	WhatAuthority   = "authority"
	WhatList        = "list of revoked certificates"
)

// Names returns the names of the files.
func (f *Files) Names() (out []string) {
	for _, n := range [...]string{f.paths.Cert, f.paths.Key, f.paths.CA} {
		if n != "" {
			out = append(out, n)
		}
	}
	return out
}

// Expiries returns when the certificate expires and, for each authority, when that does.
func (f *Files) Expiries() []Expiry {
	var out []Expiry
	c := f.now.Load()
	if c.certificate != nil {
		leaf := c.certificate.Leaf
		out = append(out, Expiry{f.paths.Cert, WhatCertificate, owner(leaf), leaf.NotAfter, WarnBefore})
	}
	for _, a := range c.authorities {
		out = append(out, Expiry{f.paths.CA, WhatAuthority, owner(a), a.NotAfter, WarnBefore})
	}
	return out
}

// owner returns whose certificate c is, for people.
func owner(c *x509.Certificate) string {
	if id, err := IdentityOf(c); err == nil && id.Role != RoleAuthority {
		return id.String()
	}
	return plain(c.Subject.String())
}

// plain returns s without what would confuse a terminal, and at most 200 bytes of it.
func plain(s string) string {
	s = s[:min(len(s), 200)]
	out := []byte(s)
	for i, c := range out {
		if c < ' ' || c > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}
