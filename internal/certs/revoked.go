package certs

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// Revocations are the certificates that authorities have revoked, by the lists in a file, as of the last successful
// reading: invalid new content changes nothing. All methods are safe for concurrent use. The methods without a capital
// may be called on nil: nothing is revoked then.
//
// A list whose next update is overdue stays in use as well: what is on it is refused, and all else is taken. To refuse
// everybody then, as some servers do, would have the nodes of a cluster refuse each other because somebody has
// forgotten a file.
type Revocations struct {
	path        string
	authorities []*Files
	now         atomic.Pointer[lists]
	ended       atomic.Uint64

	reading sync.Mutex // held while the file is read

	mu   sync.Mutex
	kept map[*kept]struct{}
}

// kept is an open connection, and how its other end has proved who it is.
type kept struct {
	conn io.Closer
	ways [][]*x509.Certificate
}

// LoadRevocations reads the lists in a file. Authorities in the files named must have signed them. From then on all
// certificates that are verified with one of those files must not be on a list; it must be called before they are used.
func LoadRevocations(path string, authorities ...*Files) (*Revocations, error) {
	r := &Revocations{path: path, kept: map[*kept]struct{}{}}
	for _, f := range authorities {
		if f != nil && f.Pool() != nil && !slices.Contains(r.authorities, f) {
			r.authorities = append(r.authorities, f)
		}
	}
	if len(r.authorities) == 0 {
		return nil, errors.New("lists of revoked certificates need a file of the authorities that have signed them")
	}
	if _, err := r.Reload(); err != nil {
		return nil, err
	}
	for _, f := range r.authorities {
		f.revoked = r
	}
	return r, nil
}

// Reload reads the file again, and ends the connections of those whose certificates are revoked now. It reports
// whether the file has changed. After an error everything is as before. The lists are checked again as well when the
// authorities have changed.
func (r *Revocations) Reload() (changed bool, err error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	text, err := readBounded(r.path, maxListBytes)
	if err != nil {
		return false, err
	}
	var pools []*x509.CertPool
	var known []*x509.Certificate
	for _, f := range r.authorities {
		c := f.now.Load()
		pools, known = append(pools, c.pool), append(known, c.authorities...)
	}
	old := r.now.Load()
	changed = old == nil || !bytes.Equal(old.text, text)
	if !changed && slices.Equal(old.pools, pools) {
		return false, nil
	}
	next, err := newLists(r.path, text, known)
	if err != nil {
		return false, err
	}
	next.pools = pools
	r.now.Store(next)
	if changed {
		r.endRevoked()
	}
	return changed, nil
}

// Names returns the name of the file.
func (r *Revocations) Names() []string { return []string{r.path} }

// Expiries returns for each list when the next one should have come.
func (r *Revocations) Expiries() (out []Expiry) {
	for _, l := range r.now.Load().all {
		if l.NextUpdate.IsZero() {
			continue
		}
		out = append(out, Expiry{File: r.path, What: WhatList, Named: plain(l.Issuer.String()), At: l.NextUpdate,
			WarnBefore: min(WarnBefore, l.NextUpdate.Sub(l.ThisUpdate)/4)})
	}
	return out
}

// Ended returns how many open connections were ended because a certificate was revoked.
func (r *Revocations) Ended() uint64 { return r.ended.Load() }

// Revoked returns an error that says when a certificate was revoked, or nil.
func (r *Revocations) Revoked(c *x509.Certificate) error {
	return r.now.Load().firstRevoked([]*x509.Certificate{c})
}

// good returns the ways to an authority on which nothing is revoked, and an error if there is none.
func (r *Revocations) good(ways [][]*x509.Certificate) ([][]*x509.Certificate, error) {
	if r == nil {
		return ways, nil
	}
	return r.now.Load().good(ways)
}

// keep has conn closed when there is no way left by which its other end has proved who it is, until forget is called.
// It is an error if that is so already.
func (r *Revocations) keep(conn io.Closer, ways [][]*x509.Certificate) (forget func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	k := &kept{conn, ways}
	r.mu.Lock()
	defer r.mu.Unlock()
	// A list that came into use since the handshake has not found conn among those that are kept.
	if _, err := r.good(ways); err != nil {
		return nil, err
	}
	r.kept[k] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.kept, k)
	}, nil
}

// endRevoked closes the connections of those whose certificates are revoked.
func (r *Revocations) endRevoked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.kept {
		if _, err := r.good(k.ways); err != nil {
			delete(r.kept, k)
			_ = k.conn.Close() // below TLS, which would wait for its other end
			r.ended.Add(1)
		}
	}
}
