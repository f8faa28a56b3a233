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
const MaxTxnOps = api.MaxTxnOps

type (
	// Verb is what an operation of a transaction does.
	Verb = api.Verb
	// TxnOp is an operation of a transaction.
	TxnOp = api.TxnOp
)

// The verbs, with the fields of TxnOp that each takes besides Key.
const (
	TxnSet            = api.VerbSet            // Value, Flags
	TxnCAS            = api.VerbCAS            // Value, Flags, Index: fails unless the key is at Index (0: absent)
	TxnLock           = api.VerbLock           // Value, Flags, Session: fails while another session holds the key
	TxnUnlock         = api.VerbUnlock         // Value, Flags, Session: fails unless the session holds the key
	TxnGet            = api.VerbGet            // returns the entry; fails if there is none
	TxnGetOrEmpty     = api.VerbGetOrEmpty     // returns the entry, with a ModifyIndex of 0 if there is none
	TxnGetTree        = api.VerbGetTree        // returns all entries that start with Key
	TxnCheckIndex     = api.VerbCheckIndex     // Index: fails unless the key is at Index
	TxnCheckSession   = api.VerbCheckSession   // Session: fails unless the session holds the key
	TxnCheckNotExists = api.VerbCheckNotExists // fails if there is an entry
	TxnCheckValue     = api.VerbCheckValue     // Value: fails unless the key holds it
	TxnDelete         = api.VerbDelete         // does not fail if the key is absent
	TxnDeleteCAS      = api.VerbDeleteCAS      // Index: fails unless the key is at Index
	TxnDeleteTree     = api.VerbDeleteTree     // deletes all entries that start with Key
	TxnDeleteTreeCAS  = api.VerbDeleteTreeCAS  // Index: fails if one was made or changed at a revision above it
	TxnAdd            = api.VerbAdd            // Num: fails unless the key holds a number
	TxnRename         = api.VerbRename         // NewKey: fails if there is no entry
)

// TxnResult is the result of a transaction that was done.
type TxnResult struct {
	Revision uint64 // of all its changes; of the store if it made none
	// Entries are the results of the operations, in their order. Gets and adds return one entry with its value, trees
	// as many as there are; other writes and checks return one without its value. Deletes and TxnCheckNotExists return
	// none.
	Entries []Entry
}

// TxnError says why a transaction was not done. It comes with ErrCondition, and with ErrDenied if an operation is not
// allowed.
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

// Txn does all of ops at one revision, each seeing what those before it did, or none of them. If some fail, the error
// is ErrCondition with a *TxnError; if one is not allowed, ErrDenied with a *TxnError. A transaction that only reads is linearizable too. The error is ErrDropped if the
// transaction was done and its result is not known any more, which is possible only after a lost answer.
func (c *kv) Txn(ctx context.Context, ops []TxnOp, o WriteOptions) (TxnResult, error) {
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
	body := make([]api.TxnPart, len(ops))
	for i := range ops {
		body[i].KV = &ops[i]
	}
	r := request{method: http.MethodPut, path: api.PathTxn, body: encode(body), interpret: result.interpret}
	if err := r.query.write(o, false); err != nil {
		return invalid(err)
	}
	a, err := c.s.write(ctx, "transaction", "", r, o.Once)
	if err != nil {
		return TxnResult{}, err
	}
	result.Revision = a.number(api.HeaderRevision)
	return result, nil
}

// interpret reads the results, or which operations failed.
func (t *TxnResult) interpret(a answer) (kind, err error, ok bool) {
	failed := a.code() == api.CodeCondition || a.code() == api.CodeDenied && a.status == http.StatusConflict
	if a.status != http.StatusOK && !failed {
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
	if failed {
		return outcomeOf(a.code()).kind, &TxnError{out.Errors}, true
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
