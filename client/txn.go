package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tenure/api"
)

// MaxTxnOps is how many operations a transaction may have.
const MaxTxnOps = 128

// Verb is what an operation of a transaction does, and TxnOp an operation.
type (
	Verb  = api.Verb
	TxnOp = api.TxnOp
)

// The verbs, with the members of TxnOp that each takes besides Key.
const (
	TxnSet            = api.VerbSet            // Value, Flags
	TxnCAS            = api.VerbCAS            // Value, Flags, Index: fails unless the key is at Index (0: absent)
	TxnLock           = api.VerbLock           // Value, Flags, Session: fails while another holds the key
	TxnUnlock         = api.VerbUnlock         // Value, Flags, Session: fails unless it holds the key
	TxnGet            = api.VerbGet            // the entry; fails if there is none
	TxnGetOrEmpty     = api.VerbGetOrEmpty     // the entry, with a ModifyIndex of 0 if there is none
	TxnGetTree        = api.VerbGetTree        // all entries that start with Key
	TxnCheckIndex     = api.VerbCheckIndex     // Index: fails unless the key is at it
	TxnCheckSession   = api.VerbCheckSession   // Session: fails unless it holds the key
	TxnCheckNotExists = api.VerbCheckNotExists // fails if there is an entry
	TxnCheckValue     = api.VerbCheckValue     // Value: fails unless the key holds it
	TxnDelete         = api.VerbDelete         // that it is absent is no failure
	TxnDeleteCAS      = api.VerbDeleteCAS      // Index: fails unless the key is at it
	TxnDeleteTree     = api.VerbDeleteTree     // all entries that start with Key
	TxnAdd            = api.VerbAdd            // Num: fails unless the key holds a number
	TxnRename         = api.VerbRename         // NewKey: fails if there is no entry
)

// TxnResult is what a transaction came to that was done.
type TxnResult struct {
	Revision uint64 // of all its changes; of the store if it made none
	// Entries are what the operations answer, in their order: gets and adds one with its value, trees as many as there
	// are; the other writes and checks one without its value. Deletions and check-not-exists answer nothing.
	Entries []Entry
}

// TxnError says why a transaction was not done. It comes with ErrCondition.
type TxnError struct {
	Failed []TxnFailure // by Op
}

// TxnFailure is an operation that failed.
type TxnFailure struct {
	Op   int `json:"OpIndex"` // index in the transaction, from 0
	What string
}

// Error names the operations that failed.
func (e *TxnError) Error() string {
	var parts []string
	for _, f := range e.Failed {
		parts = append(parts, fmt.Sprintf("operation %d: %s", f.Op, f.What))
	}
	return strings.Join(parts, "; ")
}

// Txn does all of ops at once, each seeing what those before it did, or nothing. If some fail it is ErrCondition with a
// *TxnError. A transaction that only reads is linearizable too. ErrDropped if it was done, and what it answered is not
// known any more; that can only be after a lost answer.
func (c *Client) Txn(ctx context.Context, ops []TxnOp, o WriteOptions) (TxnResult, error) {
	var result TxnResult
	invalid := func(err error) (TxnResult, error) {
		return result, &Error{Op: "transaction", Kind: ErrInvalid, Err: err}
	}
	if len(ops) == 0 {
		return invalid(errors.New("it has no operations"))
	}
	if len(ops) > MaxTxnOps {
		return invalid(fmt.Errorf("it has %d operations: at most %d are accepted", len(ops), MaxTxnOps))
	}
	var q query
	if err := q.write(o, false); err != nil {
		return invalid(err)
	}
	body := make([]api.TxnPart, len(ops))
	for i := range ops {
		body[i].KV = &ops[i]
	}
	r := request{method: http.MethodPut, path: api.PathTxn, query: q.String(), body: encode(body)}
	r.understand = result.understand
	a, err := c.write(ctx, "transaction", "", r, o)
	if err != nil {
		return TxnResult{}, err
	}
	result.Revision = a.number(api.HeaderRevision)
	return result, nil
}

// understand takes what a transaction answers: results, or which of its operations failed.
func (t *TxnResult) understand(a answer) (kind, err error, ok bool) {
	if a.status != http.StatusOK && a.code() != api.CodeCondition {
		return nil, nil, false
	}
	if a.status == http.StatusOK && a.header.Get(api.HeaderDropped) != "" {
		return ErrDropped, nil, true
	}
	var out struct {
		Results []api.TxnResult
		Errors  []TxnFailure
	}
	if json.Unmarshal(a.body, &out) != nil {
		return nil, nil, false
	}
	if a.code() == api.CodeCondition {
		return ErrCondition, &TxnError{out.Errors}, true
	}
	t.Entries = nil
	for _, r := range out.Results {
		if r.KV == nil {
			return nil, nil, false
		}
		e, err := entryOf(r.KV)
		if err != nil {
			return nil, nil, false
		}
		t.Entries = append(t.Entries, e)
	}
	return nil, nil, true
}
