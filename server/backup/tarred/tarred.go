// Package tarred puts a backup into the archive that the snapshot endpoint of Consul has, and takes it out again: a
// gzipped tar of three files, in this order.
//
//	meta.json    Meta. Its fields have the names and types that Consul's programs decode there
//	state.bin    the backup (see server/backup)
//	SHA256SUMS   the SHA-256 of the two, as sha256sum prints them
//
// So `consul snapshot save` finds that it is whole. What is in state.bin only Tenure can read.
package tarred

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	metaName  = "meta.json"
	stateName = "state.bin"
	sumsName  = "SHA256SUMS"

	maxMetaBytes = 64 << 10
	maxSumsBytes = 4 << 10
)

// ErrDamaged is wrapped by every error that says that an archive is not what Write made.
var ErrDamaged = errors.New("the snapshot is damaged")

// Meta says what a snapshot is. Written, it stays below 512 bytes: programs that read it with a JSON decoder, and take
// the checksum of what that has read, read it whole.
type Meta struct {
	Version       int
	ID            string
	Index         uint64 // revision
	Term          uint64 // era
	Configuration struct{ Servers []struct{} }
	Size          int64 // of state.bin
	Cluster       string
	Made          time.Time
}

// Write writes an archive. state writes state.bin, which must have m.Size bytes.
func Write(w io.Writer, m Meta, state func(io.Writer) error) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(compressed)
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := add(out, m.Made, metaName, text); err != nil {
		return err
	}
	if err := out.WriteHeader(header(m.Made, stateName, m.Size)); err != nil {
		return err
	}
	sum := sha256.New()
	if err := state(io.MultiWriter(out, sum)); err != nil {
		return err
	}
	sums := fmt.Sprintf("%x  %s\n%x  %s\n", sha256.Sum256(text), metaName, sum.Sum(nil), stateName)
	if err := add(out, m.Made, sumsName, []byte(sums)); err != nil {
		return err
	}
	return errors.Join(out.Close(), compressed.Close())
}

func header(made time.Time, name string, size int64) *tar.Header {
	return &tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: made}
}

func add(out *tar.Writer, made time.Time, name string, text []byte) error {
	if err := out.WriteHeader(header(made, name, int64(len(text)))); err != nil {
		return err
	}
	_, err := out.Write(text)
	return err
}

// Is reports whether b begins as an archive does, rather than as a plain backup.
func Is(b []byte) bool { return bytes.HasPrefix(b, []byte{0x1f, 0x8b}) }

// Read reads an archive to its end. state is called with state.bin, once; what it got is not to be relied on until Read
// has returned nil. Errors of state are returned as they are.
func Read(r io.Reader, state func(io.Reader) error) (m Meta, err error) {
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return m, damaged(err)
	}
	defer compressed.Close()
	in := tar.NewReader(compressed)
	text, err := file(in, metaName, maxMetaBytes)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, damaged(fmt.Errorf("%s: %w", metaName, err))
	}
	if err := next(in, stateName); err != nil {
		return m, err
	}
	sum := sha256.New()
	body := io.TeeReader(in, sum)
	if err := state(body); err != nil {
		return m, err
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return m, damaged(err)
	}
	sums, err := file(in, sumsName, maxSumsBytes)
	if err != nil {
		return m, err
	}
	have := map[string]string{metaName: sumOf(text), stateName: hex.EncodeToString(sum.Sum(nil))}
	if err := compare(sums, have); err != nil {
		return m, err
	}
	return m, end(in, compressed)
}

// next goes to the file that comes next, which must be name.
func next(in *tar.Reader, name string) error {
	h, err := in.Next()
	switch {
	case err == io.EOF:
		return damaged(fmt.Errorf("%s is missing", name))
	case err != nil:
		return damaged(err)
	case h.Name != name:
		return damaged(fmt.Errorf("%q instead of %s", h.Name, name))
	}
	return nil
}

func file(in *tar.Reader, name string, limit int64) ([]byte, error) {
	if err := next(in, name); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	if err != nil {
		return nil, damaged(err)
	}
	return b, nil
}

// compare checks the text of SHA256SUMS.
func compare(sums []byte, have map[string]string) error {
	lines := bufio.NewScanner(bytes.NewReader(sums))
	n := 0
	for ; lines.Scan(); n++ {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		if have[name] == "" || sum != have[name] {
			return damaged(fmt.Errorf("the checksum of %q does not match", name))
		}
		delete(have, name)
	}
	if len(have) > 0 {
		return damaged(fmt.Errorf("%s lacks a file", sumsName))
	}
	return nil
}

// end checks that nothing follows, and the checksum of the compression.
func end(in *tar.Reader, compressed io.Reader) error {
	if h, err := in.Next(); err == nil {
		return damaged(fmt.Errorf("%q follows", h.Name))
	} else if err != io.EOF {
		return damaged(err)
	}
	n, err := io.Copy(io.Discard, compressed)
	if err == nil && n > 0 {
		err = errors.New("something follows")
	}
	if err != nil {
		return damaged(err)
	}
	return nil
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func damaged(err error) error { return fmt.Errorf("%w: %w", ErrDamaged, err) }
