package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"tenure/api"
	"tenure/jepsen/history"
)

const (
	txnKeys  = 4  // that a group of clients works on
	txnWords = 60 // transactions tried on them before the group goes on to new ones: lists stay short
)

// txns: clients append words to lists in several keys at once. They read some keys in one transaction, and in another
// write each with a word more, if none has changed; the last of its operations may be one that fails.
func txns(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := make([]*keyring, (cfg.Clients+growers-1)/growers)
	for i := range rings {
		rings[i] = &keyring{prefix: fmt.Sprintf("txn/%d/", i), limit: txnWords}
	}
	return each(ctx, cfg, rec, func(w *worker) {
		group := rings[w.id/growers].next() + "/"
		keys := w.random.Perm(txnKeys)[:2+w.random.IntN(txnKeys-1)]
		read := w.readAll(group, keys)
		if read.Outcome != history.OK || !read.Matched || w.random.IntN(4) == 0 {
			return
		}
		w.txn(w.appending(group, keys, read.Entries))
	})
}

// readAll reads keys of a group at one revision.
func (w *worker) readAll(group string, keys []int) history.Op {
	var parts []history.Part
	for _, k := range keys {
		parts = append(parts, history.Part{Verb: "get-or-empty", Key: fmt.Sprintf("%sk%d", group, k)})
	}
	return w.txn(parts)
}

// appending has the parts of a transaction that appends a new word to some of the entries that were read, on condition
// that none of those read has changed; some read what they wrote, and some cannot be done.
func (w *worker) appending(group string, keys []int, read []history.Entry) (parts []history.Part) {
	word := w.word()
	for i, e := range read {
		if i > 0 && e.Modify > 0 && w.random.IntN(5) == 0 {
			parts = append(parts, history.Part{Verb: "check-index", Key: e.Key, Index: e.Modify})
			continue
		}
		parts = append(parts, history.Part{Verb: "cas", Key: e.Key, Index: e.Modify, Value: strings.TrimSpace(e.Value + " " + word)})
	}
	switch w.random.IntN(10) {
	case 0, 1:
		parts = append(parts, history.Part{Verb: "get-or-empty", Key: parts[0].Key})
	case 2: // all before it is done, and must be undone
		parts = append(parts, history.Part{Verb: "check-index", Key: parts[0].Key, Index: 1})
	}
	return parts
}

// txn runs one transaction.
func (w *worker) txn(parts []history.Part) history.Op {
	return w.do(history.Op{Kind: history.Txn, Key: parts[0].Key, Extra: history.Extra{Parts: parts}}, func(ctx context.Context, op *history.Op) error {
		if w.typed() {
			return w.typedTxn(ctx, op)
		}
		a, err := w.raw.request(ctx, http.MethodPut, api.PathTxn, txnBody(parts))
		if err != nil {
			return err
		}
		op.Result = a.number(api.HeaderRevision)
		switch a.status {
		case http.StatusConflict:
			return nil
		case http.StatusOK:
			op.Matched = true
			op.Entries, err = txnEntries(a.body)
			return err
		}
		return unexpected(a)
	})
}

func txnBody(parts []history.Part) []byte {
	type kv struct {
		Verb, Key string
		Value     []byte `json:",omitempty"`
		Index     uint64 `json:",omitempty"`
	}
	type one struct{ KV kv }
	var ops []one
	for _, p := range parts {
		ops = append(ops, one{kv{p.Verb, p.Key, []byte(p.Value), p.Index}})
	}
	b, err := json.Marshal(ops)
	if err != nil {
		panic(err) // strings and numbers
	}
	return b
}

func txnEntries(body []byte) (out []history.Entry, err error) {
	var said struct{ Results []struct{ KV wireEntry } }
	err = json.Unmarshal(body, &said)
	for _, r := range said.Results {
		out = append(out, history.Entry{Key: r.KV.Key, Value: string(r.KV.Value), Create: r.KV.CreateIndex, Modify: r.KV.ModifyIndex})
	}
	return out, err
}
