// Package txnfile reads the files of `kvctl txn`: one operation a line, in words as in a shell, or JSON.
package txnfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tenure/client"
	"tenure/internal/input"
	"tenure/internal/suggest"
	"tenure/internal/utf8text"
)

// MaxBytes bounds a file, and each of the value files that it names.
const MaxBytes = 32 << 20

// Op is an operation and the number of its line, from 1.
type Op struct {
	client.TxnOp
	Line int
}

// operands are what follows each verb in a file, in order.
var operands = map[client.Verb]string{
	client.TxnSet: "KEY VALUE", client.TxnCAS: "KEY INDEX VALUE", client.TxnLock: "KEY SESSION VALUE",
	client.TxnUnlock: "KEY SESSION VALUE",
	client.TxnGet:    "KEY", client.TxnGetOrEmpty: "KEY", client.TxnGetTree: "PREFIX",
	client.TxnCheckIndex: "KEY INDEX", client.TxnCheckSession: "KEY SESSION", client.TxnCheckNotExists: "KEY",
	client.TxnCheckValue: "KEY VALUE",
	client.TxnDelete:     "KEY", client.TxnDeleteCAS: "KEY INDEX", client.TxnDeleteTree: "PREFIX",
	client.TxnDeleteTreeCAS: "PREFIX INDEX",
	client.TxnAdd:           "KEY NUMBER", client.TxnRename: "KEY NEWKEY",
}

// Parse reads a transaction: JSON in the API's format if the text begins with [, and else an operation a line. The
// reading of files that it names ends with ctx.
func Parse(ctx context.Context, text []byte) ([]Op, error) {
	text, err := utf8text.Of(text)
	if err != nil {
		return nil, err
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		return parseJSON(text)
	}
	statements, err := split(string(text))
	if err != nil {
		return nil, err
	}
	var ops []Op
	for _, s := range statements {
		x, err := parseOp(ctx, s)
		if err != nil {
			return nil, LineError{s.line, err}
		}
		ops = append(ops, x)
	}
	return ops, nil
}

func parseOp(ctx context.Context, s statement) (Op, error) {
	x := Op{TxnOp: client.TxnOp{Verb: client.Verb(s.words[0].text)}, Line: s.line}
	takes, ok := operands[x.Verb]
	if !ok || s.words[0].file {
		return x, noVerb(s.words[0].text)
	}
	names, given := strings.Fields(takes), s.words[1:]
	// Flags may follow a value that is written.
	writes := takes != "KEY VALUE" && strings.HasSuffix(takes, "VALUE") || x.Verb == client.TxnSet
	if n := len(names); writes && len(given) == n+1 {
		number, found := strings.CutPrefix(given[n].text, "flags=")
		flags, err := strconv.ParseUint(number, 10, 64)
		if !found || err != nil {
			return x,
				fmt.Errorf("%q: only flags=NUMBER may follow the value; put a value with spaces in quotes",
					given[n].text)
		}
		x.Flags, given = flags, given[:n]
	}
	if len(given) != len(names) {
		return x, fmt.Errorf("%s takes %s, and there %s", x.Verb, takes, isOrAre(len(given)))
	}
	for i, name := range names {
		if err := x.take(ctx, name, given[i]); err != nil {
			return x, err
		}
	}
	return x, nil
}

func isOrAre(n int) string {
	if n == 1 {
		return "is 1 word after it"
	}
	return fmt.Sprintf("are %d words after it", n)
}

// take stores one operand.
func (x *Op) take(ctx context.Context, name string, w word) (err error) {
	if w.file && name != "VALUE" {
		return fmt.Errorf("%s: only a VALUE can be read from a file; put the @ in quotes to use it as text", name)
	}
	switch name {
	case "KEY", "PREFIX":
		x.Key = w.text
	case "NEWKEY":
		x.NewKey = w.text
	case "SESSION":
		x.Session = w.text
	case "INDEX":
		if x.Index, err = strconv.ParseUint(w.text, 10, 64); err != nil {
			return fmt.Errorf("INDEX %q: must be a number from 0 up", w.text)
		}
	case "NUMBER":
		if x.Num, err = strconv.ParseInt(w.text, 10, 64); err != nil {
			return fmt.Errorf("NUMBER %q: must be a decimal number of at most 64 bits", w.text)
		}
	case "VALUE":
		if x.Value = []byte(w.text); w.file {
			x.Value, err = readFile(ctx, w.text)
		}
	}
	return err
}

// readFile reads a file of at most MaxBytes.
func readFile(ctx context.Context, name string) ([]byte, error) {
	f, err := input.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(input.NewReader(ctx, f, name), name)
}

// ReadAll reads at most MaxBytes; name is for its errors.
func ReadAll(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%s has over %d bytes, more than any cluster accepts", name, MaxBytes)
	}
	return b, nil
}

// noVerb returns the error that there is no operation of this name, with those that were probably meant, or all.
func noVerb(name string) error {
	var names []string
	for v := range operands {
		names = append(names, string(v))
	}
	slices.Sort(names)
	hint := suggest.Question(name, "", names)
	if hint == "" {
		hint = "; there are " + strings.Join(names, ", ")
	}
	return fmt.Errorf("there is no operation %q%s", name, hint)
}

// memberNames returns the names of the members of an operation in JSON.
func memberNames() []string {
	var names []string
	for f := range reflect.TypeFor[client.TxnOp]().Fields() {
		names = append(names, f.Name)
	}
	return names
}

// unknownMember rewrites package json's complaint about a member that an operation does not have.
func unknownMember(err error) error {
	quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	name, unquoted := strconv.Unquote(quoted)
	if !ok || unquoted != nil {
		return err
	}
	return fmt.Errorf("an operation has no member %q%s", name, suggest.Question(name, "", append(memberNames(), "KV")))
}

// parseJSON reads the body of PUT /v1/txn.
func parseJSON(text []byte) ([]Op, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	at := func() int {
		rest := text[d.InputOffset():]
		skipped := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,"))
		return 1 + bytes.Count(text[:int(d.InputOffset())+skipped], []byte("\n"))
	}
	fail := func(line int, err error) ([]Op, error) { return nil, LineError{line, fmt.Errorf("JSON: %w", err)} }
	if _, err := d.Token(); err != nil {
		return fail(at(), err)
	}
	var ops []Op
	for d.More() {
		x := Op{Line: at()}
		wrapped := struct{ KV *client.TxnOp }{&x.TxnOp}
		err := d.Decode(&wrapped)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return fail(1+bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")), err)
		}
		if err == nil && (wrapped.KV == nil || x.Verb == "") {
			err = errors.New(`each operation is {"KV":{"Verb":...}}`)
		}
		if err != nil {
			return fail(x.Line, unknownMember(err))
		}
		ops = append(ops, x)
	}
	if _, err := d.Token(); err != nil {
		return fail(at(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fail(at(), errors.New("there is more after the list of operations"))
	}
	return ops, nil
}
