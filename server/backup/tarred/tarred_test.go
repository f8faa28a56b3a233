package tarred

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

var state = func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 5000)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}()

func written(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	m := Meta{Version: 1, ID: "tenure-1-2", Index: 1 << 63, Term: 1 << 40, Size: int64(len(state)),
		Cluster: "8c0d3f5b7d1c4a0e9b52c3a1e6f0d7aa", Made: time.UnixMilli(1_790_000_000_123).UTC()}
	err := Write(&b, m, func(w io.Writer) error { _, err := w.Write(state); return err })
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (m Meta, got []byte, err error) {
	m, err = Read(bytes.NewReader(b), func(r io.Reader) (err error) {
		got, err = io.ReadAll(r)
		return err
	})
	return m, got, err
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	b := written(t)
	m, got, err := read(b)
	if err != nil || !bytes.Equal(got, state) || m.Index != 1<<63 || m.Size != int64(len(state)) || !Is(b) {
		t.Errorf("%+v, %d bytes, %v", m, len(got), err)
	}
	broken := errors.New("broken")
	if _, err := Read(bytes.NewReader(b), func(io.Reader) error { return broken }); err != broken {
		t.Error(err)
	}
	if _, err := Read(bytes.NewReader(b), func(io.Reader) error { return nil }); !errors.Is(err, ErrDamaged) {
		t.Errorf("a state that is longer than what was read of it: %v", err)
	}
	short := func(w io.Writer) error { _, err := w.Write([]byte("ab")); return err }
	if err := Write(io.Discard, Meta{Size: 3}, short); err == nil {
		t.Error("a state shorter than it was said to be")
	}
}

// TestEveryByteCounts: a flipped bit is noticed, unless it is one of the few of gzip's that say nothing of the content.
func TestEveryByteCounts(t *testing.T) {
	b := written(t)
	idle := 0
	for i := range b {
		for _, damaged := range [][]byte{append(bytes.Clone(b[:i]), append([]byte{b[i] ^ 1<<(i%8)}, b[i+1:]...)...),
			b[:i]} {
			_, got, err := read(damaged)
			if err == nil {
				idle++
			}
			if err == nil && (!bytes.Equal(got, state) || len(damaged) < len(b)) {
				t.Fatalf("byte %d of %d: %d bytes and no error", i, len(b), len(damaged))
			}
		}
	}
	if idle > 12 {
		t.Errorf("%d of %d flips were not noticed", idle, len(b))
	}
	if _, _, err := read(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte more")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f))
	f.Fuzz(func(t *testing.T, b []byte) { _, _, _ = read(b) })
}

// TestWhatFollowsIsNotRead: of what was put behind the archive one byte is enough, however much there is.
func TestWhatFollowsIsNotRead(t *testing.T) {
	whole, err := gzip.NewReader(bytes.NewReader(written(t)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(whole)
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		all = append(all, state...)
	}
	var b bytes.Buffer
	out := gzip.NewWriter(&b)
	_, err = out.Write(all)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(b.Bytes())
	_, err = Read(in, func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err })
	if read := b.Len() - in.Len(); !errors.Is(err, ErrDamaged) || read > 1<<20 {
		t.Errorf("%d of %d bytes were read: %v", read, b.Len(), err)
	}
}

// endless is a file of zeros of which nobody knows the end. It notes how much of it was read.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.read += int64(len(p))
	return len(p), nil
}

// TestWhatFollowsTheBackupIsNotRead: nor is what state.bin has behind the backup that is in it.
func TestWhatFollowsTheBackupIsNotRead(t *testing.T) {
	var b bytes.Buffer
	m := Meta{Version: 1, Size: int64(len(state)) + 64<<20}
	if err := Write(&b, m, func(w io.Writer) error {
		_, err := w.Write(state)
		_, zeros := io.CopyN(w, &endless{}, 64<<20)
		return errors.Join(err, zeros)
	}); err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(b.Bytes())
	_, err := Read(in, func(r io.Reader) error { _, err := io.CopyN(io.Discard, r, int64(len(state))); return err })
	if read := b.Len() - in.Len(); !errors.Is(err, ErrDamaged) || read > b.Len()/2 {
		t.Errorf("%d of %d bytes were read: %v", read, b.Len(), err)
	}
}
