package certs

import (
	"crypto/x509"
	"sync"
	"time"
)

// SeenFor is for how long it is remembered that a client was there after its last connection has ended.
const SeenFor = 24 * time.Hour

// maxSeen bounds the clients that are remembered. When there are more, the one that was seen longest ago is forgotten.
const maxSeen = 256

// Seen remembers whose certificates clients have shown lately, and when these expire. Only certificates that an
// authority has signed come here, so no stranger fills it. All methods are safe for concurrent use; begin may be
// called on nil.
type Seen struct {
	Now func() time.Time // nil: time.Now

	mu sync.Mutex
	of map[string]*sighting
}

// sighting is of all clients of one name.
type sighting struct {
	expires time.Time // of the certificate that was shown last
	last    time.Time // when a connection has begun or ended
	open    int       // connections
}

// begin takes note of a certificate on a connection that has begun, until end is called.
func (s *Seen) begin(c *x509.Certificate) (end func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.forget(now)
	name := clientName(c)
	x := s.of[name]
	if x == nil {
		s.makeSpace()
		x = &sighting{}
		s.of[name] = x
	}
	x.expires, x.last = c.NotAfter, now
	x.open++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		x.open--
		x.last = s.now()
	}
}

// Expiries returns when the certificates of the clients that were there lately expire. Named is whose each is, as the
// audit log says it.
func (s *Seen) Expiries() (out []Expiry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(s.now())
	for name, x := range s.of {
		out = append(out, Expiry{What: WhatCertificate, Named: name, At: x.expires})
	}
	return out
}

func (s *Seen) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// forget forgets who has not been there for SeenFor. The caller holds mu.
func (s *Seen) forget(now time.Time) {
	for name, x := range s.of {
		if x.open == 0 && now.Sub(x.last) >= SeenFor {
			delete(s.of, name)
		}
	}
}

// makeSpace leaves space for one more. The caller holds mu.
func (s *Seen) makeSpace() {
	if s.of == nil {
		s.of = make(map[string]*sighting)
	}
	if len(s.of) < maxSeen {
		return
	}
	oldest := ""
	for name, x := range s.of {
		if o := s.of[oldest]; o == nil || x.last.Before(o.last) {
			oldest = name
		}
	}
	delete(s.of, oldest)
}

// clientName returns whose certificate c is: its first URI, or else CN= and its common name.
func clientName(c *x509.Certificate) string {
	if all := URIs(c); len(all) > 0 {
		return plain(all[0])
	}
	return plain("CN=" + c.Subject.CommonName)
}
