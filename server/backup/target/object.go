package target

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

// IsURL reports whether text is a URL of a target or of an object. Any other text is the name of a file or a directory.
func IsURL(text string) bool { return strings.Contains(text, "://") }

// Split splits the URL of an object into the text of its target, for Open, and its name.
func Split(text string) (target, name string, err error) {
	base, query, hasQuery := strings.Cut(text, "?")
	scheme, path, _ := strings.Cut(base, "://")
	i := strings.LastIndexByte(path, '/')
	if i < 0 || i == len(path)-1 {
		return "", "", fmt.Errorf("%w: it names no object; give the name behind a slash", ErrURL)
	}
	target, name = scheme+"://"+path[:max(i, 1)], path[i+1:]
	if hasQuery {
		target += "?" + query
	}
	return target, name, CheckName(name)
}

// Locate returns the text that names an object of a target, the inverse of Split. OpenObject opens it.
func Locate(t Target, name string) string {
	base, query, hasQuery := strings.Cut(t.String(), "?")
	base += "/" + name
	if hasQuery {
		base += "?" + query
	}
	return base
}

// OpenObject opens the file of that name, or the object that a URL names. bytes is its length, or 0 if unknown. The
// caller closes it.
func OpenObject(ctx context.Context, text string) (r io.ReadCloser, bytes int64, err error) {
	if err := CheckText(text); err != nil {
		return nil, 0, err
	}
	if !IsURL(text) {
		return openFile(text)
	}
	where, name, err := Split(text)
	if err != nil {
		return nil, 0, err
	}
	t, err := Open(where, Config{})
	if err != nil {
		return nil, 0, err
	}
	r, err = t.Get(ctx, name)
	if err != nil {
		return nil, 0, errors.Join(err, t.Close())
	}
	if b, is := r.(*bucketReader); is {
		bytes = b.size
	}
	return owned{r, t}, bytes, nil
}

func openFile(name string) (io.ReadCloser, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// owned is an object whose Close closes its target too.
type owned struct {
	io.ReadCloser
	t Target
}

func (o owned) Close() error { return errors.Join(o.ReadCloser.Close(), o.t.Close()) }

// encryptedStart is the beginning of a file in the age format.
const encryptedStart = "age-encryption.org/v1\n"

// Plain returns a reader of the plaintext of r, which may be encrypted or not: its first bytes decide.
func Plain(r io.Reader, identities []age.Identity) (plain io.Reader, encrypted bool, err error) {
	b := bufio.NewReader(r)
	start, err := b.Peek(len(encryptedStart))
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	if !bytes.Equal(start, []byte(encryptedStart)) {
		return b, false, nil
	}
	plain, err = Decrypt(b, identities)
	return plain, true, err
}
