package certs

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The names of the files in a directory of an authority.
const (
	BundleName = "ca.pem"     // the authorities: the one that signs, and others that are still taken
	KeyName    = "ca-key.pem" // the key of the one that signs
	ListName   = "crl.pem"    // the certificates that were revoked, if any was
	keySuffix  = "-key.pem"
	suffix     = ".pem"
)

// Dir is a directory with an authority and the certificates that it has signed.
type Dir struct {
	path        string
	authority   Authority
	authorities []*x509.Certificate // all of the bundle, the one that signs among them
}

// Init makes a directory with a new authority for the cluster of that name.
func Init(path, cluster string, now time.Time, validity time.Duration) (*Dir, error) {
	pair, err := NewAuthority(cluster, now, validity)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	bundle := filepath.Join(path, BundleName)
	if _, err := os.Lstat(bundle); err == nil {
		return nil, fmt.Errorf("%s exists already, and nothing is overwritten: use that authority, or choose another directory",
			bundle)
	}
	if err := writePair(bundle, filepath.Join(path, KeyName), pair); err != nil {
		return nil, err
	}
	return Open(path)
}

// Open opens a directory that Init has made.
func Open(path string) (*Dir, error) {
	bundle, keyName := filepath.Join(path, BundleName), filepath.Join(path, KeyName)
	text, err := readFile(bundle)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no authority in %s: make one with kvctl ca init, or name its directory with --dir",
			path)
	}
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path}
	if d.authorities, err = parseCertificates(bundle, text); err != nil {
		return nil, err
	}
	if text, err = readFile(keyName); err != nil {
		return nil, fmt.Errorf("the authority's key: %w", err)
	}
	if d.authority.Key, err = parseKey(keyName, text); err != nil {
		return nil, err
	}
	for _, c := range d.authorities {
		if isKeyOf(d.authority.Key, c) {
			d.authority.Certificate = c
			return d, nil
		}
	}
	return nil, fmt.Errorf("%s is the key of none of the authorities in %s", keyName, bundle)
}

// Cluster returns the name of the cluster whose authority this is.
func (d *Dir) Cluster() (string, error) {
	id, err := IdentityOf(d.authority.Certificate)
	if err != nil {
		return "", fmt.Errorf("the authority in %s: %w", d.path, err)
	}
	return id.Cluster, nil
}

// KeyOf returns the name of the file with the key of the certificate in a file, as Issue writes both.
func KeyOf(cert string) string { return strings.TrimSuffix(cert, suffix) + keySuffix }

// Written is a pair of files that was written.
type Written struct {
	Cert, Key string
	Leaf      *x509.Certificate
}

// Issue makes a certificate and its key and writes both into out, "" for the directory itself, as ROLE-NAME.pem and
// ROLE-NAME-key.pem. Cluster is filled in.
func (d *Dir) Issue(r Request, out string, now time.Time) (Written, error) {
	var err error
	if r.Cluster, err = d.Cluster(); err != nil {
		return Written{}, err
	}
	pair, err := d.authority.Issue(r, now)
	if err != nil {
		return Written{}, err
	}
	out = cmp.Or(out, d.path)
	if err := os.MkdirAll(out, 0o700); err != nil {
		return Written{}, err
	}
	base := filepath.Join(out, string(r.Role)+"-"+r.Name)
	w := Written{Cert: base + suffix, Key: base + keySuffix, Leaf: pair.Leaf}
	return w, writePair(w.Cert, w.Key, pair)
}

// writePair writes two new files, both or none.
func writePair(cert, key string, p Pair) error {
	if err := writeNew(cert, p.Cert, 0o644); err != nil {
		return err
	}
	if err := writeNew(key, p.Key, 0o600); err != nil {
		return errors.Join(err, os.Remove(cert))
	}
	return nil
}

// Renew makes a new certificate with a new key for whom the certificate in a file names, with the same hosts, and puts
// both in the place of those in the files. An authority of the directory must have signed it, and its key must be
// beside it: everybody has the certificates that nodes show, and could put one in the place of his own. A validity of 0
// is that of before.
func (d *Dir) Renew(cert string, validity time.Duration, now time.Time) (Written, error) {
	text, err := readFile(cert)
	if err != nil {
		return Written{}, err
	}
	list, err := parseCertificates(cert, text)
	if err != nil {
		return Written{}, err
	}
	old := list[0]
	id, err := IdentityOf(old)
	if err != nil {
		return Written{}, fmt.Errorf("%s: %w", cert, err)
	}
	cluster, err := d.Cluster()
	if err != nil {
		return Written{}, err
	}
	if id.Cluster != cluster || id.Role == RoleAuthority {
		return Written{}, fmt.Errorf("%s is the certificate of %s, which the authority of cluster %s does not sign", cert, id,
			cluster)
	}
	if err := hasItsKey(cert, list); err != nil {
		return Written{}, err
	}
	if !slices.ContainsFunc(d.authorities, func(a *x509.Certificate) bool { return old.CheckSignatureFrom(a) == nil }) {
		return Written{}, fmt.Errorf("%s says that it is the certificate of %s, but no authority in %s has signed it: make "+
			"another one with kvctl ca %s", cert, id, filepath.Join(d.path, BundleName), id.Role)
	}
	if validity == 0 {
		validity = old.NotAfter.Sub(old.NotBefore) - backdate
	}
	pair, err := d.authority.Issue(Request{Identity: id, Hosts: Hosts(old), Validity: validity}, now)
	if err != nil {
		return Written{}, err
	}
	w := Written{Cert: cert, Key: KeyOf(cert), Leaf: pair.Leaf}
	if err := replace(w.Key, pair.Key, 0o600); err != nil {
		return Written{}, err
	}
	return w, replace(w.Cert, pair.Cert, 0o644)
}

// hasItsKey returns an error unless the key of the certificate in a file is beside it.
func hasItsKey(cert string, list []*x509.Certificate) error {
	name := KeyOf(cert)
	text, err := readFile(name)
	if err != nil {
		return fmt.Errorf("the key of %s: %w: name a certificate whose key is beside it", cert, err)
	}
	key, err := parseKey(name, text)
	if err != nil {
		return err
	}
	if err := checkPair(Paths{Cert: cert, Key: name}, list, key); err != nil {
		return fmt.Errorf("%w: if a renewal was interrupted, delete both and make them anew with kvctl ca", err)
	}
	return nil
}

// Leaves returns the files of the certificates of nodes and clients in the directory.
func (d *Dir) Leaves() ([]string, error) {
	var out []string
	for _, role := range [...]Role{RoleNode, RoleClient} {
		names, err := filepath.Glob(filepath.Join(escapeGlob(d.path), string(role)+"-*"+suffix))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if !strings.HasSuffix(n, keySuffix) {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// escapeGlob returns a path as a pattern that matches it alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// RenewAuthority makes another authority, which signs from now on. The bundle has both: the certificates that the one
// before has signed are good until Retire.
func (d *Dir) RenewAuthority(validity time.Duration, now time.Time) (*x509.Certificate, error) {
	cluster, err := d.Cluster()
	if err != nil {
		return nil, err
	}
	pair, err := NewAuthority(cluster, now, validity)
	if err != nil {
		return nil, err
	}
	// The bundle comes first: with a key that is in no bundle the directory could not be opened.
	if err := d.writeBundle(append([]*x509.Certificate{pair.Leaf}, d.authorities...)); err != nil {
		return nil, err
	}
	if err := replace(filepath.Join(d.path, KeyName), pair.Key, 0o600); err != nil {
		return nil, err
	}
	d.authority.Certificate = pair.Leaf
	d.authority.Key, err = parseKey(KeyName, pair.Key)
	return pair.Leaf, err
}

// Retire takes all authorities but the one that signs out of the bundle, and returns them. A certificate in the
// directory, or in the files also, that one of them has signed is an error: it would be good no more. Their lists of
// revoked certificates go with them: a node refuses a list of nobody.
func (d *Dir) Retire(now time.Time, also ...string) ([]*x509.Certificate, error) {
	files, err := d.Leaves()
	if err != nil {
		return nil, err
	}
	for _, name := range append(files, also...) {
		list, err := readCertificates(name)
		if err != nil {
			return nil, err
		}
		if list[0].CheckSignatureFrom(d.authority.Certificate) != nil {
			return nil, fmt.Errorf("%s is signed by an authority that would be retired: renew it with kvctl ca renew first", name)
		}
	}
	var gone []*x509.Certificate
	for _, a := range d.authorities {
		if a != d.authority.Certificate {
			gone = append(gone, a)
		}
	}
	if len(gone) == 0 {
		return nil, fmt.Errorf("%s has no authority but the one that signs", filepath.Join(d.path, BundleName))
	}
	if _, err := d.Lists(); err != nil { // before anything is changed
		return nil, err
	}
	if err := d.writeBundle([]*x509.Certificate{d.authority.Certificate}); err != nil {
		return nil, err
	}
	return gone, d.dropLists(gone, now)
}

func (d *Dir) writeBundle(list []*x509.Certificate) error {
	var b bytes.Buffer
	for _, c := range list {
		b.Write(encodePEM(pemCertificate, c.Raw))
	}
	if err := replace(filepath.Join(d.path, BundleName), b.Bytes(), 0o644); err != nil {
		return err
	}
	d.authorities = list
	return nil
}
