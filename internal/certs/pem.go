package certs

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tenure/internal/utf8text"
)

const (
	pemCertificate = "CERTIFICATE"
	pemKey         = "PRIVATE KEY"
)

// Bounds of the files.
const (
	maxFileBytes    = 1 << 20
	maxCertificates = 256
)

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// readFile returns the content of a file, which has at most maxFileBytes.
func readFile(name string) ([]byte, error) {
	b, err := readBounded(name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	if b, err = utf8text.Of(b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// readCertificates returns the certificates in a file, at least one.
func readCertificates(name string) ([]*x509.Certificate, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, err
	}
	return parseCertificates(name, text)
}

// readBounded returns the content of a file, which has at most limit bytes.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes: is it the right file?", name, limit)
	}
	return b, nil
}

// blocks returns the PEM blocks of a file. One that is damaged is an error: encoding/pem passes over it, and an
// authority would be missing without a word.
func blocks(name string, b []byte) (out []*pem.Block, err error) {
	for rest := b; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		out = append(out, block)
	}
	if begun := len(beginLine.FindAll(b, -1)); begun != len(out) {
		return nil, fmt.Errorf("%s has %d lines -----BEGIN …-----, and only %d of these blocks can be read: "+
			"copy the file anew", name, begun, len(out))
	}
	return out, nil
}

var beginLine = regexp.MustCompile(`(?m)^-----BEGIN `)

// parseCertificates returns the certificates in the PEM text of a file, at least one.
func parseCertificates(name string, b []byte) ([]*x509.Certificate, error) {
	list, err := blocks(name, b)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, block := range list {
		if block.Type != pemCertificate {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d cannot be read: %w", name, len(out)+1, err)
		}
		if out = append(out, c); len(out) > maxCertificates {
			return nil, fmt.Errorf("%s has more than %d certificates", name, maxCertificates)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM form (-----BEGIN CERTIFICATE-----)", name)
	}
	return out, nil
}

// parseKey returns the first private key in the PEM text of a file: in PKCS#8, or as openssl wrote RSA keys (PKCS#1)
// and EC keys (SEC 1) before.
func parseKey(name string, b []byte) (crypto.Signer, error) {
	list, err := blocks(name, b)
	if err != nil {
		return nil, err
	}
	for _, block := range list {
		if !strings.HasSuffix(block.Type, pemKey) {
			continue
		}
		if block.Type == "ENCRYPTED "+pemKey || block.Headers["Proc-Type"] != "" {
			return nil, fmt.Errorf("the key in %s is encrypted, and nobody is here to type its passphrase: "+
				"decrypt it with openssl pkey -in %[1]s -out KEY, and give KEY mode 0600", name)
		}
		key, err := keyOf(block)
		if err != nil {
			return nil, fmt.Errorf("%s: the key cannot be read: %w", name, err)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("%s: a key of this kind cannot sign", name)
		}
		return signer, nil
	}
	return nil, fmt.Errorf("%s has no private key in PEM form (-----BEGIN PRIVATE KEY-----)", name)
}

func keyOf(block *pem.Block) (any, error) {
	switch block.Type {
	case "RSA " + pemKey:
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC " + pemKey:
		return x509.ParseECPrivateKey(block.Bytes)
	}
	return x509.ParsePKCS8PrivateKey(block.Bytes)
}

// checkPair returns an error unless the key is that of the first certificate.
func checkPair(paths Paths, list []*x509.Certificate, key crypto.Signer) error {
	for i, c := range list {
		switch of := isKeyOf(key, c); {
		case of && i == 0:
			return nil
		case of:
			return fmt.Errorf("%s begins with the certificate of %s, and the key in %s is that of certificate %d: "+
				"the owner's comes first, then the authority that has signed it, and so on", paths.Cert, owner(list[0]), paths.Key, i+1)
		}
	}
	return fmt.Errorf("%s and %s do not belong together: the key is that of no certificate in the file", paths.Cert,
		paths.Key)
}

// isKeyOf reports whether key is that of c.
func isKeyOf(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// writeNew writes a file that must not exist yet, and makes it durable.
func writeNew(name string, b []byte, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already, and nothing is overwritten: remove it, or choose another directory", name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// replace writes a file in place of the one of that name, whole or not at all.
func replace(name string, b []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	temp := f.Name()
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// day shows a time as people read it.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
