package workload

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tenure/jepsen/history"
)

const (
	setBatch    = 50  // keys below one prefix of the set
	growers     = 5   // clients that grow one list or counter
	listValues  = 100 // appends tried before a group goes on to a new list
	listWriters = 5   // clients below one listed prefix
	listKeys    = 4   // that a client puts in turn
)

// sets makes each client fill one batch of keys after the other, and list its own and those of others.
func sets(ctx context.Context, cfg Config, rec *history.Recorder) error {
	return each(ctx, cfg, rec, func(w *worker) {
		if w.gen.IntN(100) < 25 {
			of, batch := w.id, w.gen.serial/setBatch
			if w.gen.IntN(2) == 0 {
				of = w.gen.IntN(cfg.Clients)
			}
			w.keys.list(fmt.Sprintf("set/%d/%d/", of, max(0, batch-w.gen.IntN(2))), w.gen.IntN(2) == 0)
			return
		}
		batch := w.gen.serial / setBatch
		value := w.gen.value()
		w.keys.put(fmt.Sprintf("set/%d/%d/%s", w.id, batch, value), value)
	})
}

// appends makes each client read a list and write it with one value more, if nobody else has written it.
func appends(ctx context.Context, cfg Config, rec *history.Recorder) error {
	return grow(ctx, cfg, rec, "append", listValues, oneWordMore)
}

// counters makes each client read a number and write the next one, if nobody else has written it.
func counters(ctx context.Context, cfg Config, rec *history.Recorder) error {
	return grow(ctx, cfg, rec, "counter", counterUses, oneMore)
}

const counterUses = 100 * listValues

func oneWordMore(w *worker, value string) string {
	return strings.TrimSpace(value + " " + w.gen.value())
}

func oneMore(_ *worker, value string) string {
	n, _ := strconv.ParseInt(value, 10, 64) // the checker finds what is not a number
	return strconv.FormatInt(n+1, 10)
}

// grow makes each client read a key and write what next makes of its value. Clients share keys in groups; a key is used
// so many times.
func grow(
	ctx context.Context, cfg Config, rec *history.Recorder, name string, uses int, next func(*worker, string) string,
) error {
	rings := growing(cfg, name, uses)
	return each(ctx, cfg, rec, func(w *worker) { w.grow(rings[w.id/growers].next(), next) })
}

// growing returns the keys of each group of clients.
func growing(cfg Config, name string, uses int) []*keyring {
	rings := make([]*keyring, (cfg.Clients+growers-1)/growers)
	for i := range rings {
		rings[i] = &keyring{prefix: fmt.Sprintf("%s/%d/", name, i), limit: uses}
	}
	return rings
}

// grow reads a key and writes what next makes of its value, if nobody else has written it.
func (w *worker) grow(key string, next func(*worker, string) string) {
	if read := w.keys.get(key, w.gen.IntN(4) == 0); read.Outcome == history.OK {
		w.keys.cas(key, next(w, read.Value), read.Index)
	}
}

// lists makes each client put a few keys in turn below a prefix of its own, prune it now and then, and list the prefix
// of its group. After a write of unknown outcome it takes another prefix.
func lists(ctx context.Context, cfg Config, rec *history.Recorder) error {
	epoch := make([]int, cfg.Clients)
	return each(ctx, cfg, rec, func(w *worker) {
		group := fmt.Sprintf("list/%d/", w.id/listWriters)
		mine := fmt.Sprintf("%s%d.%d/", group, w.id, epoch[w.id])
		var op history.Op
		switch p := w.gen.IntN(100); {
		case p < 40:
			op = w.keys.list(group, p%2 == 0)
		case p < 44:
			op = w.keys.prune(mine)
		default:
			op = w.keys.put(fmt.Sprintf("%sk%d", mine, w.gen.serial%listKeys), w.gen.value())
		}
		if op.Outcome == history.Info && op.Writes() {
			epoch[w.id]++
		}
	})
}
