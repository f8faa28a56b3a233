// Package txnfile reads the files of `kvctl txn`: one operation a line, in words as a shell has them, or JSON.
package txnfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"tenure/client"
)

// MaxBytes bounds a file, and each of the values that it names.
const MaxBytes = 32 << 20

// Op is an operation and the line that it comes from, from 1.
type Op struct {
	client.TxnOp
	Line int
}

// operands are what follows each verb in the file, in order.
var operands = map[client.Verb]string{
	client.TxnSet: "KEY VALUE", client.TxnCAS: "KEY INDEX VALUE", client.TxnLock: "KEY SESSION VALUE", client.TxnUnlock: "KEY SESSION VALUE",
	client.TxnGet: "KEY", client.TxnGetOrEmpty: "KEY", client.TxnGetTree: "PREFIX",
	client.TxnCheckIndex: "KEY INDEX", client.TxnCheckSession: "KEY SESSION", client.TxnCheckNotExists: "KEY", client.TxnCheckValue: "KEY VALUE",
	client.TxnDelete: "KEY", client.TxnDeleteCAS: "KEY INDEX", client.TxnDeleteTree: "PREFIX",
	client.TxnAdd: "KEY NUMBER", client.TxnRename: "KEY NEWKEY",
}

// Parse reads a transaction: JSON as the API has it if the text begins with [, else an operation a line.
func Parse(text []byte) ([]Op, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		return parseJSON(text)
	}
	statements, err := split(string(text))
	if err != nil {
		return nil, err
	}
	var ops []Op
	for _, s := range statements {
		x, err := parseOp(s)
		if err != nil {
			return nil, LineError{s.line, err}
		}
		ops = append(ops, x)
	}
	return ops, nil
}

func parseOp(s statement) (Op, error) {
	x := Op{TxnOp: client.TxnOp{Verb: client.Verb(s.words[0].text)}, Line: s.line}
	takes, ok := operands[x.Verb]
	if !ok || s.words[0].file {
		return x, fmt.Errorf("there is no operation %q: there are %s", s.words[0].text, verbList())
	}
	names, given := strings.Fields(takes), s.words[1:]
	// Behind a value there may be flags.
	writes := takes != "KEY VALUE" && strings.HasSuffix(takes, "VALUE") || x.Verb == client.TxnSet
	if n := len(names); writes && len(given) == n+1 {
		number, found := strings.CutPrefix(given[n].text, "flags=")
		flags, err := strconv.ParseUint(number, 10, 64)
		if !found || err != nil {
			return x, fmt.Errorf("%q: behind the value goes flags=NUMBER or nothing; quote a value that has spaces", given[n].text)
		}
		x.Flags, given = flags, given[:n]
	}
	if len(given) != len(names) {
		return x, fmt.Errorf("%s takes %s, and there %s", x.Verb, takes, isOrAre(len(given)))
	}
	for i, name := range names {
		if err := x.take(name, given[i]); err != nil {
			return x, err
		}
	}
	return x, nil
}

func isOrAre(n int) string {
	if n == 1 {
		return "is 1 word behind it"
	}
	return fmt.Sprintf("are %d words behind it", n)
}

// take puts one operand where it belongs.
func (x *Op) take(name string, w word) (err error) {
	if w.file && name != "VALUE" {
		return fmt.Errorf("%s: only a VALUE is read from a file; quote the @ if it is meant", name)
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
			x.Value, err = ReadFile(w.text)
		}
	}
	return err
}

// ReadFile reads what may be a value.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, name)
}

// ReadAll reads what may be a value, or a transaction; name is for its errors.
func ReadAll(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%s has over %d bytes, more than any cluster takes", name, MaxBytes)
	}
	return b, nil
}

func verbList() string {
	var out []string
	for v := range operands {
		out = append(out, string(v))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
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
			return fail(x.Line, err)
		}
		ops = append(ops, x)
	}
	if _, err := d.Token(); err != nil {
		return fail(at(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fail(at(), errors.New("something follows the list of operations"))
	}
	return ops, nil
}
