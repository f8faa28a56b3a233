package input

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// silent is a reader that never returns. It tells when it is read.
type silent chan struct{}

func (s silent) Read([]byte) (int, error) {
	s <- struct{}{}
	select {}
}

// A Reader returns the bytes and the error of the reader below it, however the bytes are cut into pieces.
func TestReaderPassesOn(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	broken := errors.New("broken")
	for _, x := range []struct {
		name string
		r    io.Reader
		want error
	}{
		{"whole", strings.NewReader(text), nil},
		{"halves", iotest.HalfReader(strings.NewReader(text)), nil},
		{"data with the error", iotest.DataErrReader(strings.NewReader(text)), nil},
		{"a failure", io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), broken},
	} {
		got, err := io.ReadAll(iotest.OneByteReader(NewReader(t.Context(), x.r, "it")))
		if string(got) != text || !errors.Is(err, x.want) || IsEnded(err) {
			t.Errorf("%s: %d bytes, %v", x.name, len(got), err)
		}
	}
}

// A context ends a read that goes on without end, and all that follow.
func TestContextEndsReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := make(silent)
	r := NewReader(ctx, io.MultiReader(strings.NewReader("some"), in), "it")
	go func() {
		<-in
		cancel()
	}()
	got, err := io.ReadAll(r)
	if string(got) != "some" || !IsEnded(err) || !errors.Is(err, context.Canceled) ||
		err.Error() != "interrupted while reading it" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.Read(make([]byte, 1)); !IsEnded(err) {
		t.Errorf("the next read: %v", err)
	}
}

// A result that comes too late is dropped.
func TestLateResult(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun, release, dropped := make(chan bool), make(chan bool), make(chan int)
	go func() {
		<-begun
		cancel()
	}()
	_, err := await(ctx, "it", func() (int, error) {
		begun <- true
		<-release
		return 7, nil
	}, func(n int) { dropped <- n })
	if !IsEnded(err) {
		t.Fatal(err)
	}
	close(release)
	if n := <-dropped; n != 7 {
		t.Errorf("%d was dropped", n)
	}
	if _, err := Await(ctx, "it", func() (int, error) { t.Error("it was begun"); return 0, nil }); !IsEnded(err) {
		t.Error(err)
	}
}
