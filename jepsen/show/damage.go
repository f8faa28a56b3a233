package show

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	damageKeys   = 6000
	damageValue  = 4000 // bytes: all keys together are more than one checkpoint
	damageTrials = 12
	damageAsked  = 300 // keys a trial
)

// damage plants changes in the state.db of a running node, one at a time, and asks it for keys and a listing: each
// answer is right, or none.
func damage(ctx context.Context, s *stage) error {
	c, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	if err := fillState(ctx, c); err != nil {
		return err
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	ended, answered := 0, 0
	for i := range damageTrials {
		n := c.Node(1 + i%3)
		if err := c.WaitReady(ctx, c.Nodes()...); err != nil {
			return err
		}
		file := filepath.Join(n.Data, "state.db")
		good, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		size := n.LogSize()
		what, err := spoilPage(r, file, good)
		if err != nil {
			return err
		}
		right, err := askAll(ctx, r, n)
		if err != nil {
			return fmt.Errorf("node %d, %s (seed %d): %w", n.ID, what, seed, err)
		}
		answered += right
		if n.Wait(5*time.Second) == nil || !n.Running() {
			ended++
			text := n.LogFrom(size)
			if !strings.Contains(text, "damaged storage") {
				return fmt.Errorf("node %d ended after %s, and did not say why: %s", n.ID, what, text)
			}
		} else if err := n.Kill(); err != nil {
			return err
		}
		if err := os.WriteFile(file, good, 0o600); err != nil {
			return err
		}
		if err := n.Start(); err != nil {
			return err
		}
	}
	s.say("%d changes: %d right answers, none wrong; %d nodes ended and said why, the others by then had not met the "+
		"change", damageTrials, answered, ended)
	if ended < damageTrials/3 {
		return fmt.Errorf("only %d of %d changes were met", ended, damageTrials)
	}
	return nil
}

func damageText(i int) string { return fmt.Sprintf("%06d %s", i, strings.Repeat("d", damageValue)) }

// fillState writes keys until every node has checkpointed them, or most, into state.db.
func fillState(ctx context.Context, c *cluster.Cluster) error {
	all, err := connect(c, 20*time.Second)
	if err != nil {
		return err
	}
	defer all.Close()
	errs := make(chan error, 16)
	for w := range cap(errs) {
		go func() {
			for i := w; i < damageKeys; i += cap(errs) {
				if _, err := all.Set(ctx, fmt.Sprintf("d/%06d", i), []byte(damageText(i)),
					client.WriteOptions{}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	for end := time.Now().Add(30 * time.Second); ; cluster.Pause(ctx, 100*time.Millisecond) {
		checkpointed := 0
		for _, n := range c.Nodes() {
			if info, err := os.Stat(filepath.Join(n.Data, "state.db")); err == nil && info.Size() > 8<<20 {
				checkpointed++
			}
		}
		if checkpointed == 3 {
			cluster.Pause(ctx, 2*time.Second) // checkpoints that still run
			return ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of 3 nodes have checkpointed their state", checkpointed)
		}
	}
}

// spoilPage changes a page of a bbolt file that holds records: its element count, an element, a key, any byte, all.
func spoilPage(r *rand.Rand, file string, good []byte) (string, error) {
	const page = 4096
	id := 2 + r.IntN(len(good)/page-2)
	for range 10_000 { // a branch or a leaf that names itself
		if good[id*page+8]&3 != 0 && good[id*page+10] > 0 {
			break
		}
		id = 2 + r.IntN(len(good)/page-2)
	}
	off, b := int64(id)*page, []byte(nil)
	kind := r.IntN(5)
	switch kind {
	case 0:
		off, b = off+10, []byte{good[off+10] - 1}
	case 1:
		off += 16 + int64(r.IntN(64))
	case 2:
		off += 80 + int64(r.IntN(400))
	case 3:
		off += int64(r.IntN(page))
	case 4:
		b = make([]byte, page)
	}
	if b == nil {
		b = []byte{good[off] ^ 1<<r.IntN(8)}
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, err = f.WriteAt(b, off)
	return fmt.Sprintf("page %d, change %d at byte %d", id, kind, off), err
}

// askAll asks node n for keys, stale and consistent, and for a listing, until it answers no more. It returns how many
// answers were right, and a wrong one as an error.
func askAll(ctx context.Context, r *rand.Rand, n *cluster.Node) (right int, err error) {
	base := "http://" + n.Client + "/v1/kv/"
	for range damageAsked {
		i := r.IntN(damageKeys)
		mode := []string{"?raw&stale", "?raw&consistent"}[r.IntN(2)]
		code, text, _, err := ask(ctx, http.MethodGet, base+fmt.Sprintf("d/%06d", i)+mode, nil)
		switch {
		case err != nil: // it has ended
			return right, nil
		case code == 404 || code == 200 && text != damageText(i):
			return right, fmt.Errorf("key %d%s: %d %.20q", i, mode, code, text)
		case code == 200:
			right++
		}
	}
	code, text, _, err := ask(ctx, http.MethodGet, base+"d/?keys&stale", nil)
	if err == nil && code == 200 {
		var keys []string
		if err := json.Unmarshal([]byte(text), &keys); err != nil || len(keys) != damageKeys {
			return right, fmt.Errorf("a listing has %d keys of %d: %v", len(keys), damageKeys, err)
		}
		right++
	}
	return right, nil
}
