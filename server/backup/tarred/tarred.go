// Package tarred writes and reads a backup in the file format of Consul's snapshot endpoint: a gzipped tar of three
// files, in this order.
//
//	meta.json    Meta; its fields have the names and types that Consul's programs expect
//	state.bin    the backup (see server/backup)
//	SHA256SUMS   the SHA-256 of both, as sha256sum prints them
//
// `consul snapshot save` can therefore verify it. Only Tenure can read state.bin.
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

// ErrDamaged is wrapped by every error that means that the input is not what Write has written.
var ErrDamaged = errors.New("the snapshot is damaged")

// Meta describes a snapshot. Its JSON stays below 512 bytes: some programs compute the checksum of the bytes that a
// JSON decoder has buffered, which must be all of the file.
type Meta struct {
	Version       int
	ID            string
	Index         uint64 // the revision
	Term          uint64 // the era
	Configuration struct{ Servers []struct{} }
	Size          int64 // of state.bin
	Cluster       string
	Made          time.Time
}

// Write writes a snapshot to w. It calls state to write state.bin, which must have m.Size bytes.
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

// Is reports whether b begins like a snapshot of this package, which is gzipped, rather than like a plain backup.
func Is(b []byte) bool { return bytes.HasPrefix(b, []byte{0x1f, 0x8b}) }

// Read reads a snapshot to its end. It calls state once with state.bin, which must read all of it; the bytes are not
// verified until Read has returned nil. Errors of state are returned as they are.
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
	var more [1]byte // not all of it: what follows may be very large
	if n, err := io.ReadFull(body, more[:]); n > 0 || err != io.EOF {
		return m, damaged(fmt.Errorf("something follows the backup in %s", stateName))
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

// next advances to the next file, whose name must be name.
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

// end checks that nothing follows, and the checksum of the gzip stream.
func end(in *tar.Reader, compressed io.Reader) error {
	if h, err := in.Next(); err == nil {
		return damaged(fmt.Errorf("%q follows", h.Name))
	} else if err != io.EOF {
		return damaged(err)
	}
	var more [1]byte // what follows may be a small file that is very large
	n, err := io.ReadFull(compressed, more[:])
	if n > 0 {
		err = errors.New("something follows")
	}
	if err != io.EOF {
		return damaged(err)
	}
	return nil
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func damaged(err error) error { return fmt.Errorf("%w: %w", ErrDamaged, err) }
