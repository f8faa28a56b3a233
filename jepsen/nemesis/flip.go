package nemesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/jepsen/cluster"
)

const (
	journalName = "journal"
	flipPage    = 4096
	noticeFlip  = 10 * time.Second
)

// flip is a bit that was inverted.
type flip struct {
	off  int64
	mask byte
}

// flips inverts bits in a file of a node that was killed and starts it. If any of them is in use it must refuse to
// run, and say that its data is damaged; in the journal every bit is, since each sector is checked, written or not.
// Then the bits are set right, and it must be ready; without damage it must be ready at once, because the start reads
// all that is in use.
func flips(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		n := b.pick(ctx, 1)[0]
		name := []string{"log.db", "state.db", journalName}[b.Random.IntN(3)]
		if err := n.Kill(); err != nil {
			return err
		}
		end := b.Log.begin("flip", n.ID)
		file := filepath.Join(n.Data, name)
		done, err := b.flip(file)
		if err != nil {
			return err
		}
		size := n.LogSize()
		if err := n.Start(); err != nil {
			return err
		}
		ready, err := b.noticed(n)
		if err != nil {
			return err
		}
		if ready && name == journalName {
			return fmt.Errorf("node %d is ready after %d bits of %s were flipped: %v", n.ID, len(done), name, done)
		}
		if !ready {
			text := n.LogFrom(size)
			if !strings.Contains(text, "damaged") {
				return fmt.Errorf("node %d ended after bits of %s were flipped, and did not say that it is damaged: %s",
					n.ID, name, text)
			}
			end(fmt.Sprintf("%d bits of %s: %s", len(done), name, words(text)))
			if err := unflip(file, done); err != nil {
				return err
			}
			if err := n.Start(); err != nil {
				return err
			}
			if err := b.ready(n); err != nil {
				return fmt.Errorf("with the bits set right again: %w", err)
			}
		} else {
			end("") // free pages
		}
		cluster.Pause(ctx, b.between(300*ms, 800*ms))
	}
	return nil
}

// noticed waits until the node has ended or is ready.
func (b *Bed) noticed(n *cluster.Node) (ready bool, err error) {
	for end := time.Now().Add(noticeFlip); time.Now().Before(end); {
		if !n.Running() {
			return false, nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*ms)
		err := b.Cluster.WaitReady(ctx, n)
		cancel()
		if err == nil {
			return true, nil
		}
	}
	if !n.Running() {
		return false, nil
	}
	return false, fmt.Errorf("node %d, bits of whose files were flipped, is neither ready nor ended after %v", n.ID,
		noticeFlip)
}

// flip inverts a bit in each of some random pages that hold anything.
func (b *Bed) flip(file string) ([]flip, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var pages []int64
	for off := 0; off+flipPage <= len(text); off += flipPage {
		if !bytes.Equal(text[off:off+flipPage], make([]byte, flipPage)) {
			pages = append(pages, int64(off))
		}
	}
	if len(pages) == 0 && filepath.Base(file) == journalName { // nothing was committed yet, and zeros are checked too
		pages = []int64{0}
		text[flipPage-1] = 1
	}
	if len(pages) == 0 {
		return nil, errors.New(file + " is empty")
	}
	var out []flip
	seen := map[int64]bool{}
	for range []int{1, 4, 24}[b.Random.IntN(3)] {
		page := pages[b.Random.IntN(len(pages))]
		used := int64(len(bytes.TrimRight(text[page:page+flipPage], "\x00")))
		f := flip{page + b.Random.Int64N(used), 1 << b.Random.IntN(8)}
		if !seen[f.off] {
			out, seen[f.off] = append(out, f), true
		}
	}
	return out, unflip(file, out)
}

// unflip inverts the bits, for the first or the second time.
func unflip(file string, list []flip) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, x := range list {
		var b [1]byte
		if _, err := f.ReadAt(b[:], x.off); err != nil {
			return err
		}
		b[0] ^= x.mask
		if _, err := f.WriteAt(b[:], x.off); err != nil {
			return err
		}
	}
	return f.Sync()
}

// words are the last words of a node, as many as a report has place for.
func words(text string) string { return fmt.Sprintf("%.300s", cluster.LastWords(text)) }

// why is the last that a node said, or else the error.
func why(n *cluster.Node, err error) string {
	if said := words(n.LogFrom(0)); said != "" {
		return said
	}
	return err.Error()
}
