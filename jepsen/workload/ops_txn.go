package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/history"
)

// txnOps are the transactions.
type txnOps struct{ *conn }

// read reads keys of a group at one revision.
func (t txnOps) read(group string, keys []int) history.Op {
	var parts []history.Part
	for _, k := range keys {
		parts = append(parts, history.Part{Verb: "get-or-empty", Key: fmt.Sprintf("%sk%d", group, k)})
	}
	return t.do(parts)
}

// do runs one transaction.
func (t txnOps) do(parts []history.Part) history.Op {
	op := history.Op{Kind: history.Txn, Key: parts[0].Key, Extra: history.Extra{Parts: parts}}
	return t.conn.do(op, func(ctx context.Context, op *history.Op) error {
		if t.typed() {
			return t.typedTxn(ctx, op)
		}
		a, err := t.raw.request(ctx, http.MethodPut, api.PathTxn, txnBody(parts))
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
		out = append(out, r.KV.seen())
	}
	return out, err
}

func (t txnOps) typedTxn(ctx context.Context, op *history.Op) error {
	var ops []client.TxnOp
	for _, p := range op.Parts {
		ops = append(ops, client.TxnOp{Verb: client.Verb(p.Verb), Key: p.Key, Value: []byte(p.Value), Index: p.Index})
	}
	result, err := t.client.Txn(ctx, ops, client.WriteOptions{})
	if errors.Is(err, client.ErrCondition) {
		return nil
	}
	op.Matched, op.Result = err == nil, result.Revision
	op.Entries = seenEntries(result.Entries)
	return err
}
