package workload

import (
	"context"
	"fmt"
	"strings"

	"tenure/jepsen/history"
)

const (
	txnKeys = 4  // that a group of clients works on
	txnUses = 60 // transactions tried on them before the group goes on to new ones, so that lists stay short
)

// txns makes clients append values to lists in several keys at once. A client reads some keys in one transaction, and
// in another it writes each with one value more, if none has changed. The last operation may be one that fails.
func txns(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := make([]*keyring, (cfg.Clients+growers-1)/growers)
	for i := range rings {
		rings[i] = &keyring{prefix: fmt.Sprintf("txn/%d/", i), limit: txnUses}
	}
	return each(ctx, cfg, rec, func(w *worker) {
		group := rings[w.id/growers].next() + "/"
		keys := w.gen.Perm(txnKeys)[:2+w.gen.IntN(txnKeys-1)]
		read := w.txns.read(group, keys)
		if read.Outcome != history.OK || !read.Matched || w.gen.IntN(4) == 0 {
			return
		}
		w.txns.do(w.appending(group, keys, read.Entries))
	})
}

// appending returns the parts of a transaction that appends a new value to some of the entries that were read, if none
// of them has changed. Some read what they wrote, and some cannot be done.
func (w *worker) appending(group string, keys []int, read []history.Entry) (parts []history.Part) {
	value := w.gen.value()
	for i, e := range read {
		if i > 0 && e.Modify > 0 && w.gen.IntN(5) == 0 {
			parts = append(parts, history.Part{Verb: "check-index", Key: e.Key, Index: e.Modify})
			continue
		}
		longer := strings.TrimSpace(e.Value + " " + value)
		parts = append(parts, history.Part{Verb: "cas", Key: e.Key, Index: e.Modify, Value: longer})
	}
	switch w.gen.IntN(10) {
	case 0, 1:
		parts = append(parts, history.Part{Verb: "get-or-empty", Key: parts[0].Key})
	case 2: // fails after the other operations, which must not be applied
		parts = append(parts, history.Part{Verb: "check-index", Key: parts[0].Key, Index: 1})
	}
	return parts
}
