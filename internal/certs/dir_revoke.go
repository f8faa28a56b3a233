package certs

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ListValidity is within what time the next list of revoked certificates is to come, unless somebody says otherwise. It
// is that of certificates, so that both can be made anew together.
const ListValidity = LeafValidity

// RevokedList is a list of revoked certificates that an authority has signed.
type RevokedList struct {
	File       string
	Of         string // the authority
	From, Next time.Time
	Entries    []RevokedEntry // in the order in which they were revoked
}

// RevokedEntry is a certificate on a list.
type RevokedEntry struct {
	Serial string // in hexadecimal
	At     time.Time
}

// Revocation is a certificate that was to be revoked.
type Revocation struct {
	File, Serial string
	Leaf         *x509.Certificate
	Before       bool // it was on the list already
}

// Revoke writes the list of revoked certificates anew, with the certificates in files beside those that are on it. The
// authority that signs must have signed them. Without files the list is the same, with another date of its next update.
func (d *Dir) Revoke(files []string, validity time.Duration, now time.Time) (RevokedList, []Revocation, error) {
	text, err := d.listText()
	if err != nil {
		return RevokedList{}, nil, err
	}
	own, others, err := d.readLists(text, nil)
	if err != nil {
		return RevokedList{}, nil, err
	}
	next, err := d.nextList(own, validity, now)
	if err != nil {
		return RevokedList{}, nil, err
	}
	var done []Revocation
	for _, name := range files {
		leaf, err := d.revocable(name)
		if err != nil {
			return RevokedList{}, nil, err
		}
		done = append(done, Revocation{name, serialText(leaf.SerialNumber), leaf, !addEntry(next, leaf.SerialNumber, now)})
	}
	signed, err := d.writeLists(next, others, text)
	return d.shownList(signed), done, err
}

// nextList returns what follows a list of the authority, nil if there is none yet, with the same entries.
func (d *Dir) nextList(before *x509.RevocationList, validity time.Duration, now time.Time) (*x509.RevocationList,
	error) {
	if validity < minValidity {
		return nil, fmt.Errorf("a validity of %v is shorter than %v", validity, minValidity)
	}
	end := d.authority.Certificate.NotAfter
	if now.After(end) {
		return nil, fmt.Errorf("the authority expired on %s: renew it with kvctl ca renew --authority", day(end))
	}
	next := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: now.Add(-backdate), NextUpdate: now.Add(validity)}
	if next.NextUpdate.After(end) {
		next.NextUpdate = end
	}
	if before != nil {
		if before.Number != nil {
			next.Number = new(big.Int).Add(before.Number, big.NewInt(1))
		}
		for _, e := range before.RevokedCertificateEntries {
			next.RevokedCertificateEntries = append(next.RevokedCertificateEntries, x509.RevocationListEntry{
				SerialNumber: e.SerialNumber, RevocationTime: e.RevocationTime, ReasonCode: e.ReasonCode})
		}
	}
	return next, nil
}

// addEntry adds a serial number to a list, unless it is there already, and reports whether it did.
func addEntry(l *x509.RevocationList, serial *big.Int, now time.Time) bool {
	for _, e := range l.RevokedCertificateEntries {
		if e.SerialNumber.Cmp(serial) == 0 {
			return false
		}
	}
	l.RevokedCertificateEntries = append(l.RevokedCertificateEntries,
		x509.RevocationListEntry{SerialNumber: serial, RevocationTime: now.UTC()})
	return true
}

// revocable returns the certificate in a file if the authority can revoke it.
func (d *Dir) revocable(name string) (*x509.Certificate, error) {
	list, err := readCertificates(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: name the file of a certificate, such as %s: which certificate it is stands in nothing "+
			"else", err, filepath.Join(d.path, "client-NAME.pem"))
	}
	if err != nil {
		return nil, err
	}
	c := list[0]
	signed := func(a *x509.Certificate) bool { return c.CheckSignatureFrom(a) == nil }
	switch {
	case slices.ContainsFunc(d.authorities, c.Equal):
		return nil, fmt.Errorf("%s is the certificate of the authority itself, which cannot revoke itself: make another one "+
			"with kvctl ca renew --authority, and end it with kvctl ca retire", name)
	case signed(d.authority.Certificate):
		return c, nil
	case slices.ContainsFunc(d.authorities, signed):
		return nil, fmt.Errorf("%s was signed by an authority of before, whose key is not here any more: all that it has "+
			"signed is refused after kvctl ca retire", name)
	}
	return nil, fmt.Errorf("%s is the certificate of %s, and no authority in %s has signed it: only the one that has can "+
		"revoke it", name, owner(c), filepath.Join(d.path, BundleName))
}

// listText returns what is in the file of the lists, nil if there is none. A link is an error: a new list takes the
// place of the file, and a node that reads what the link names would never see it.
func (d *Dir) listText() ([]byte, error) {
	name := filepath.Join(d.path, ListName)
	if at, err := os.Lstat(name); err == nil && at.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link, in whose place the next list would be written: put the list itself there, and "+
			"give nodes a copy", name)
	}
	text, err := readBounded(name, maxListBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// readLists returns the list of the authority that signs, nil if there is none, and those of the other authorities, in
// what listText has returned.
// Lists of gone, and of authorities of other names, are left out. A list that cannot be read is an error: what is on it
// must not be lost.
func (d *Dir) readLists(text []byte, gone []*x509.Certificate) (own *x509.RevocationList, others []*x509.RevocationList,
	err error) {
	if text == nil {
		return nil, nil, nil
	}
	name := filepath.Join(d.path, ListName)
	all, err := parseLists(name, text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: nothing was changed: take the file of a node in its place", err)
	}
	known := append(slices.Clone(d.authorities), gone...)
	for i, l := range all {
		if !slices.ContainsFunc(known, func(a *x509.Certificate) bool { return bytes.Equal(a.RawSubject, l.RawIssuer) }) {
			continue
		}
		by, err := signedBy(l, known)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("%s: list %d: %w: nothing was changed", name, i+1, err)
		case by == d.authority.Certificate:
			own = l
		case !slices.Contains(gone, by):
			others = append(others, l)
		}
	}
	return own, others, nil
}

// writeLists signs a list and writes it in front of the others, in the place of the text that was read. What somebody
// else has revoked meanwhile must not be lost.
func (d *Dir) writeLists(next *x509.RevocationList, others []*x509.RevocationList, read []byte) (*x509.RevocationList,
	error) {
	a := d.authority
	der, err := x509.CreateRevocationList(rand.Reader, next, a.Certificate, a.Key)
	if err != nil {
		return nil, fmt.Errorf("the authority cannot sign a list: %w", err)
	}
	signed, err := x509.ParseRevocationList(der)
	if err != nil {
		return nil, fmt.Errorf("read the list that was signed: %w", err)
	}
	var b bytes.Buffer
	for _, l := range append([]*x509.RevocationList{signed}, others...) {
		b.Write(encodePEM(pemList, l.Raw))
	}
	if b.Len() > maxListBytes {
		return nil, fmt.Errorf("the list would have more than %d bytes, which no node reads: begin anew with another "+
			"authority, with kvctl ca renew --authority", maxListBytes)
	}
	name := filepath.Join(d.path, ListName)
	if text, err := d.listText(); err != nil || !bytes.Equal(text, read) {
		return nil, errors.Join(fmt.Errorf("%s was changed by somebody else meanwhile: try again", name), err)
	}
	return signed, replace(name, b.Bytes(), 0o644)
}

// dropLists writes the lists, if there are any, without those of the authorities that are gone.
func (d *Dir) dropLists(gone []*x509.Certificate, now time.Time) error {
	text, err := d.listText()
	if err != nil || text == nil {
		return err
	}
	own, others, err := d.readLists(text, gone)
	if err != nil {
		return err
	}
	next, err := d.nextList(own, ListValidity, now)
	if err == nil {
		_, err = d.writeLists(next, others, text)
	}
	return err
}

// Lists returns what is on the lists of revoked certificates in the directory.
func (d *Dir) Lists() ([]RevokedList, error) {
	text, err := d.listText()
	if err != nil {
		return nil, err
	}
	own, all, err := d.readLists(text, nil)
	if err != nil {
		return nil, err
	}
	if own != nil {
		all = append([]*x509.RevocationList{own}, all...)
	}
	var out []RevokedList
	for _, l := range all {
		out = append(out, d.shownList(l))
	}
	return out, nil
}

func (d *Dir) shownList(l *x509.RevocationList) RevokedList {
	if l == nil {
		return RevokedList{}
	}
	out := RevokedList{File: filepath.Join(d.path, ListName), Of: plain(l.Issuer.String()), From: l.ThisUpdate,
		Next: l.NextUpdate}
	for _, e := range l.RevokedCertificateEntries {
		out.Entries = append(out.Entries, RevokedEntry{serialText(e.SerialNumber), e.RevocationTime})
	}
	return out
}

func serialText(n *big.Int) string { return fmt.Sprintf("%x", n) }
