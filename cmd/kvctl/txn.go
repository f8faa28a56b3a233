package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/txnfile"
	"tenure/internal/shown"
)

func newTxn(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "txn FILE|-",
		Short: "Do several operations together, or none of them",
		Long: "Do all operations of FILE (- is standard input) in one step. Each sees what those before it did.\n" +
			"If one fails, none is done: the failed lines are printed and the exit code is 1. Otherwise print\n" +
			"the entries that the operations return (KEY, modify index and value, separated by tabs) and the\n" +
			"revision.\n\n" +
			"FILE has one operation a line, at most " + fmt.Sprint(client.MaxTxnOps) + ":\n\n" +
			"  set KEY VALUE               check-value KEY VALUE       get KEY\n" +
			"  cas KEY INDEX VALUE         check-index KEY INDEX       get-or-empty KEY\n" +
			"  add KEY NUMBER              check-session KEY SESSION   get-tree PREFIX\n" +
			"  rename KEY NEWKEY           check-not-exists KEY        delete KEY\n" +
			"  lock KEY SESSION VALUE      delete-cas KEY INDEX        delete-tree PREFIX\n" +
			"  unlock KEY SESSION VALUE    delete-tree-cas PREFIX INDEX\n\n" +
			"Words are quoted as in a shell ('...', \"...\", backslash); quoted words may contain line ends.\n" +
			"Nothing is expanded. A VALUE of @NAME is the content of the file NAME; write '@NAME' for the text\n" +
			"itself. After a VALUE that is written, flags=NUMBER sets the key's flags. # starts a comment. A\n" +
			"FILE that starts with [ is JSON in the format of PUT /v1/txn.",
		Example: "  kvctl txn transfer.txn\n  printf '%s\\n' 'check-value door closed' 'set door open' 'add opened " +
			"1' | kvctl txn -",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			ops, err := a.readTxn(ctx, name)
			if err != nil {
				return badInput(fmt.Errorf("%s: %w", name, err))
			}
			return a.write(ctx, func(ctx context.Context, c *client.Client) error {
				a.changes = w.fence.Name != "" || slices.ContainsFunc(ops, writes)
				result, err := c.Txn(ctx, txnOps(ops), w.options())
				if err != nil && !a.changes {
					err = withoutDoubt(err)
				}
				if err != nil {
					return failedLines(err, name, ops)
				}
				return a.printTxn(txnOps(ops), result)
			})
		},
	}
	w.addTo(cmd)
	return cmd
}

// writes reports whether an operation changes something.
func writes(op txnfile.Op) bool {
	switch op.Verb {
	case client.TxnGet, client.TxnGetOrEmpty, client.TxnGetTree, client.TxnCheckIndex, client.TxnCheckSession,
		client.TxnCheckNotExists, client.TxnCheckValue:
		return false
	}
	return true
}

// withoutDoubt returns the error of a transaction that only reads: whether it was done does not matter then.
func withoutDoubt(err error) error {
	var e *client.Error
	if errors.As(err, &e) && (e.Kind == client.ErrUnknown || e.Kind == client.ErrDropped) {
		return &client.Error{Op: e.Op, Kind: client.ErrUnavailable, Err: e.Err}
	}
	return err
}

func txnOps(ops []txnfile.Op) []client.TxnOp {
	out := make([]client.TxnOp, len(ops))
	for i := range ops {
		out[i] = ops[i].TxnOp
	}
	return out
}

// readTxn reads the operations of a file, or of standard input for "-".
func (a *app) readTxn(ctx context.Context, name string) ([]txnfile.Op, error) {
	in, called, err := a.openInput(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close() // it is only read
	text, err := txnfile.ReadAll(in, called)
	if err != nil {
		return nil, err
	}
	ops, err := txnfile.Parse(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case len(ops) == 0:
		return nil, errors.New("it has no operation")
	case len(ops) > client.MaxTxnOps:
		return nil, txnfile.LineError{
			Line: ops[client.MaxTxnOps].Line,
			Err:  fmt.Errorf("a transaction has at most %d operations, and this is one more", client.MaxTxnOps),
		}
	}
	return ops, nil
}

// line is an operation that failed.
type line struct {
	Op   int    `json:"op"` // from 0
	Line int    `json:"line"`
	What string `json:"what"`
}

// txnFailed is a transaction that was not done.
type txnFailed struct {
	err   error
	name  string
	lines []line
}

// Error has a line for each operation that failed.
func (e txnFailed) Error() string {
	var b strings.Builder
	for _, l := range e.lines {
		fmt.Fprintf(&b, "%s: line %d: %s\n", e.name, l.Line, l.What)
	}
	why := "condition failed"
	if errors.Is(e.err, client.ErrDenied) {
		why = "denied"
	}
	return b.String() + why + ": nothing was changed"
}

// Unwrap returns the client's error.
func (e txnFailed) Unwrap() error { return e.err }

// failedLines adds to err the lines of the operations that it names.
func failedLines(err error, name string, ops []txnfile.Op) error {
	var failed *client.TxnError
	if !errors.As(err, &failed) {
		return err
	}
	out := txnFailed{err: err, name: name}
	for _, f := range failed.Failed {
		l := line{Op: f.Op, What: f.What}
		if f.Op >= 0 && f.Op < len(ops) {
			l.Line = ops[f.Op].Line
		}
		out.lines = append(out.lines, l)
	}
	return out
}

// txnEntry is an entry that an operation returns, as --json prints it. Fields that the operation does not return are
// left out.
type txnEntry struct {
	Key         string  `json:"key"`
	Value       *[]byte `json:"value,omitempty"` // base64
	Flags       uint64  `json:"flags"`
	CreateIndex uint64  `json:"create_index,omitempty"` // get-or-empty of an absent key has none
	ModifyIndex uint64  `json:"modify_index,omitempty"`
	LockIndex   uint64  `json:"lock_index"`
	Session     string  `json:"session,omitempty"`
	ExpiresIn   int64   `json:"expires_in_ms,omitempty"`
}

func (p *printer) printTxn(ops []client.TxnOp, r client.TxnResult) error {
	entries := make([]txnEntry, len(r.Entries))
	hasValue := txnValues(ops, r.Entries)
	for i, e := range r.Entries {
		x := entryJSON(e)
		entries[i] = txnEntry{x.Key, nil, x.Flags, x.CreateIndex, x.ModifyIndex, x.LockIndex, x.Session, x.ExpiresIn}
		if hasValue[i] && e.ModifyIndex != 0 {
			entries[i].Value = &x.Value
		}
	}
	return p.print(struct {
		Entries  []txnEntry `json:"entries"`
		Revision uint64     `json:"revision"`
	}{entries, r.Revision}, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		for _, e := range r.Entries {
			fmt.Fprintf(b, "%s\t%d\t%s\n", shown.Line(e.Key), e.ModifyIndex, shown.Line(string(e.Value)))
		}
		fmt.Fprintf(b, "revision %d\n", r.Revision)
		return b.Flush()
	})
}
