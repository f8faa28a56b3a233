package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tenure/api"
)

// constants are the string constants of a file, by name, in the order in which they stand, and whether each has a doc
// comment.
func constants(t *testing.T, file string) (names []string, values map[string]string, documented map[string]bool) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	values, documented = map[string]string{}, map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Names) != 1 || len(v.Values) != 1 {
			return true
		}
		text, ok := v.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		name := v.Names[0].Name
		value, err := strconv.Unquote(text.Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		values[name] = value
		documented[name] = strings.HasPrefix(v.Doc.Text(), name+": ")
		return true
	})
	return names, values, documented
}

func TestEveryCodeIsListedAndDocumented(t *testing.T) {
	names, values, documented := constants(t, "codes.go")
	var declared []api.Code
	for _, name := range names {
		declared = append(declared, api.Code(values[name]))
		if !documented[name] {
			t.Errorf("%s says not what it promises", name)
		}
	}
	if len(declared) == 0 || !slices.Equal(declared, api.Codes()) {
		t.Errorf("declared are %q, listed %q", declared, api.Codes())
	}
	for i, c := range api.Codes() {
		if slices.Index(api.Codes(), c) != i {
			t.Errorf("%q stands twice", c)
		}
	}
}

// Headers are read from http.Header by these names directly.
func TestHeadersAreCanonical(t *testing.T) {
	names, values, _ := constants(t, "names.go")
	for _, name := range names {
		if strings.HasPrefix(name, "Header") && http.CanonicalHeaderKey(values[name]) != values[name] {
			t.Errorf("%s is %q, not in its canonical form", name, values[name])
		}
	}
}

// The table of errors in the documentation has a row for each code, in their order, and no other.
func TestEveryCodeIsInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| code | status |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows []api.Code
	for _, line := range strings.Split(table, "\n") {
		if row, ok := strings.CutPrefix(line, "| `"); ok {
			code, _, _ := strings.Cut(row, "`")
			rows = append(rows, api.Code(code))
		}
	}
	if !slices.Equal(rows, api.Codes()) {
		t.Errorf("docs/api.md has %q, the codes are %q", rows, api.Codes())
	}
}
