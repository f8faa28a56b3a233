// Package schemata puts many versions of a function into one program and lets the program choose between them when it
// runs, so that a compiler runs once for many mutants. These are the mutant schemata of Untch, Offutt and Harrold
// ("Mutation analysis using mutant schemata", 1993).
package schemata

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Edit replaces the bytes From to To of a file by Text.
type Edit struct {
	From, To int
	Text     string
}

// Apply returns src with edits, which must not overlap.
func Apply(src []byte, edits []Edit) string {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].From < edits[j].From })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.Write(src[at:e.From])
		b.WriteString(e.Text)
		at = e.To
	}
	b.Write(src[at:])
	return b.String()
}

// WriteOverlay writes to dir what `go build -overlay` reads, and returns its path. replace has the path of a replacing
// file by the path of the replaced one.
func WriteOverlay(dir string, replace map[string]string) (string, error) {
	j, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, j, 0o600)
}

// Func is a function in the text of its file.
type Func struct {
	Fset *token.FileSet
	Src  []byte
	Decl *ast.FuncDecl
}

// CanChoose reports whether other versions of the function can stand beside it.
func (f Func) CanChoose() bool {
	return f.Decl.Body != nil && f.Decl.Name.Name != "init" && f.Decl.Name.Name != "_"
}

// Offset returns where a node begins in the file.
func (f Func) Offset(n ast.Node) int { return f.Fset.Position(n.Pos()).Offset }

// Extent returns where the function begins and ends, without its doc comment.
func (f Func) Extent() (from, to int) { return f.Offset(f.Decl), f.Fset.Position(f.Decl.End()).Offset }

// Version returns the text of the function under the name that version id has.
func (f Func) Version(id int) string {
	from, to := f.Extent()
	name := f.Offset(f.Decl.Name)
	return string(f.Src[from:name]) + f.VersionName(id) + string(f.Src[name+len(f.Decl.Name.Name):to])
}

// VersionName is what version id of the function is called.
func (f Func) VersionName(id int) string { return fmt.Sprintf("version%d_%s", id, f.Decl.Name.Name) }

// Dispatch returns the edits that have the function call one of its versions in its own place: if condition holds, the
// one whose id equals the integer expression chosen. Parameters without a name get one.
func (f Func) Dispatch(condition, chosen string, ids []int) []Edit {
	at := f.Offset(f.Decl.Body) + 1
	if len(ids) == 0 {
		return []Edit{{at, at, " if " + condition + " {}; "}}
	}
	var edits []Edit
	n := 0
	receiver := ""
	if f.Decl.Recv != nil {
		receiver = f.arguments(f.Decl.Recv, &n, &edits)[0] + "."
	}
	arguments := strings.Join(f.arguments(f.Decl.Type.Params, &n, &edits), ", ")
	results := f.Decl.Type.Results != nil && len(f.Decl.Type.Results.List) > 0
	var b strings.Builder
	fmt.Fprintf(&b, " if %s { switch %s {", condition, chosen)
	for _, id := range ids {
		call := receiver + f.VersionName(id) + f.typeArguments() + "(" + arguments + ")"
		if results {
			fmt.Fprintf(&b, " case %d: return %s;", id, call)
		} else {
			fmt.Fprintf(&b, " case %d: %s; return;", id, call)
		}
	}
	b.WriteString(" } }; ")
	return append(edits, Edit{at, at, b.String()})
}

func (f Func) typeArguments() string {
	if f.Decl.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, p := range f.Decl.Type.TypeParams.List {
		for _, id := range p.Names {
			names = append(names, id.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// arguments returns the parameters of list as arguments, after giving a name to those that have none.
func (f Func) arguments(list *ast.FieldList, n *int, edits *[]Edit) []string {
	var out []string
	fresh := func() string {
		*n++
		return fmt.Sprintf("argument%d", *n)
	}
	for _, p := range list.List {
		dots := ""
		if _, variadic := p.Type.(*ast.Ellipsis); variadic {
			dots = "..."
		}
		if len(p.Names) == 0 {
			name, at := fresh(), f.Offset(p.Type)
			*edits = append(*edits, Edit{at, at, name + " "})
			out = append(out, name+dots)
		}
		for _, id := range p.Names {
			name := id.Name
			if name == "_" {
				at := f.Offset(id)
				name = fresh()
				*edits = append(*edits, Edit{at, at + 1, name})
			}
			out = append(out, name+dots)
		}
	}
	return out
}
