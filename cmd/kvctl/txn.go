package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/cmd/kvctl/internal/txnfile"
)

func newTxn(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "txn FILE|-",
		Short: "Do operations together, or none of them",
		Long: "txn does all operations of FILE (- is standard input) at once, each seeing what those before it did, or nothing if\n" +
			"one of them fails: then it says which, by line, and the exit code is 1. It prints the entries that the operations\n" +
			"answer (KEY, a tab, the modify index, a tab and the value) and the revision.\n\n" +
			"An operation a line, at most " + fmt.Sprint(client.MaxTxnOps) + ":\n\n" +
			"  set KEY VALUE               check-value KEY VALUE       get KEY\n" +
			"  cas KEY INDEX VALUE         check-index KEY INDEX       get-or-empty KEY\n" +
			"  add KEY NUMBER              check-session KEY SESSION   get-tree PREFIX\n" +
			"  rename KEY NEWKEY           check-not-exists KEY        delete KEY\n" +
			"  lock KEY SESSION VALUE      delete-cas KEY INDEX        delete-tree PREFIX\n" +
			"  unlock KEY SESSION VALUE\n\n" +
			"Words are quoted as in a shell ('...', \"...\", a backslash), and may go on over line ends between quotes. Nothing is\n" +
			"expanded. A VALUE of @NAME is the content of that file; '@NAME' is itself. Behind a value that is written may stand\n" +
			"flags=NUMBER. A # begins a comment. A FILE that begins with [ is JSON as PUT /v1/txn takes it.",
		Example: "  kvctl txn transfer.txn\n  printf '%s\\n' 'check-value door closed' 'set door open' 'add opened 1' | kvctl txn -",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			ops, err := a.readTxn(name)
			if err != nil {
				return usage("%s: %w", name, err)
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				plain := make([]client.TxnOp, len(ops))
				for i := range ops {
					plain[i] = ops[i].TxnOp
				}
				result, err := c.Txn(ctx, plain, w.options())
				if err != nil {
					return failedLines(err, name, ops)
				}
				return a.printTxn(plain, result)
			})
		},
	}
	w.add(cmd)
	return cmd
}

func (a *app) readTxn(name string) ([]txnfile.Op, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = txnfile.ReadAll(a.stdin, "standard input")
	} else {
		text, err = txnfile.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	ops, err := txnfile.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case len(ops) == 0:
		return nil, errors.New("there is no operation in it")
	case len(ops) > client.MaxTxnOps:
		return nil, txnfile.LineError{Line: ops[client.MaxTxnOps].Line, Err: fmt.Errorf("a transaction has at most %d operations, and this is one more", client.MaxTxnOps)}
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
	b.WriteString("condition failed: nothing was changed")
	return b.String()
}

// Unwrap is the client's error.
func (e txnFailed) Unwrap() error { return e.err }

// failedLines finds the lines of the operations that err names.
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

// txnEntry is what an operation answers, as --json prints it: what it does not answer is left out.
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

// answersOf is how many entries an operation answers, and whether with their values. Of a tree nobody knows how many:
// -1.
func answersOf(v client.Verb) (entries int, valued bool) {
	switch v {
	case client.TxnGetTree:
		return -1, true
	case client.TxnGet, client.TxnGetOrEmpty, client.TxnAdd:
		return 1, true
	case client.TxnDelete, client.TxnDeleteCAS, client.TxnDeleteTree, client.TxnCheckNotExists:
		return 0, false
	}
	return 1, false
}

// withValues tells of each entry whether its operation answers values, so that an empty one can be told from none.
func withValues(ops []client.TxnOp, entries []client.Entry) []bool {
	m := txnMatch{ops: ops, entries: entries, hopeless: map[[2]int]bool{}, valued: make([]bool, len(entries))}
	if !m.from(0, 0) {
		for i := range m.valued {
			m.valued[i] = true // not understood: nothing is left out
		}
	}
	return m.valued
}

// txnMatch finds which entries belong to which operation.
type txnMatch struct {
	ops      []client.TxnOp
	entries  []client.Entry
	hopeless map[[2]int]bool
	valued   []bool
}

// from tells whether the operations from i on can have answered the entries from at on, and notes which have values.
// What a tree answers is in the order of its keys, and as much as can be.
func (m *txnMatch) from(i, at int) bool {
	if i == len(m.ops) {
		return at == len(m.entries)
	}
	if m.hopeless[[2]int{i, at}] {
		return false
	}
	op := &m.ops[i]
	n, valued := answersOf(op.Verb)
	end := at + n
	if n < 0 {
		for end = at; end < len(m.entries) && strings.HasPrefix(m.entries[end].Key, op.Key) && (end == at || m.entries[end].Key > m.entries[end-1].Key); {
			end++
		}
	} else if end > len(m.entries) || n == 1 && !answers1(op, &m.entries[at], valued) {
		end = -1
	}
	for least := at + max(n, 0); end >= least; end-- {
		if m.from(i+1, end) {
			for k := at; k < end; k++ {
				m.valued[k] = valued
			}
			return true
		}
	}
	m.hopeless[[2]int{i, at}] = true
	return false
}

// answers1 tells whether e can be what op has answered.
func answers1(op *client.TxnOp, e *client.Entry, valued bool) bool {
	key := op.Key
	if op.Verb == client.TxnRename {
		key = op.NewKey
	}
	return e.Key == key && (valued || len(e.Value) == 0)
}

func (a *app) printTxn(ops []client.TxnOp, r client.TxnResult) error {
	entries := make([]txnEntry, len(r.Entries))
	valued := withValues(ops, r.Entries)
	for i, e := range r.Entries {
		x := entryJSON(e)
		entries[i] = txnEntry{x.Key, nil, x.Flags, x.CreateIndex, x.ModifyIndex, x.LockIndex, x.Session, x.ExpiresIn}
		if valued[i] && e.ModifyIndex != 0 {
			entries[i].Value = &x.Value
		}
	}
	return a.print(struct {
		Entries  []txnEntry `json:"entries"`
		Revision uint64     `json:"revision"`
	}{entries, r.Revision}, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		for _, e := range r.Entries {
			fmt.Fprintf(b, "%s\t%d\t%s\n", output.OneLine(e.Key), e.ModifyIndex, output.OneLine(string(e.Value)))
		}
		fmt.Fprintf(b, "revision %d\n", r.Revision)
		return b.Flush()
	})
}
