package arrows

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// impureImports may not be imported by pure packages, nor anything below them.
var impureImports = []string{
	"C", "context", "crypto/rand", "database", "debug", "embed", "expvar", "hash/maphash", "io/fs", "io/ioutil", "log",
	"net", "os", "plugin", "reflect", "runtime", "sync", "syscall", "testing", "unique", "unsafe", "weak",
}

// impureFuncs are the functions of packages that are otherwise fine: clocks, hidden goroutines, the zone of this
// machine.
var impureFuncs = map[string][]string{
	"time": {
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local",
		"LoadLocation",
	},
	"iter": {"Pull", "Pull2"},
}

// Purity returns the breaches by the pure packages, and the paths of the packages that were checked.
func (t *Tree) Purity(r Rules) (out []Finding, looked []string, err error) {
	for _, layer := range r.Packages {
		if layer.Pure && t.Has(layer.Path) {
			looked = append(looked, layer.Path)
		}
	}
	c, err := t.newChecker(looked)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range looked {
		out = append(out, t.pure(c, t.pkgs[path])...)
	}
	return out, looked, nil
}

// olderBuild is the one constraint that a pure package may have: that of a build which stands in for an older release in
// tests of upgrades (kv.NewestLevel).
const olderBuild = "//go:build tenure_older"

// constrained reports whether f has that line.
func constrained(f *ast.File, line string) bool {
	return slices.ContainsFunc(f.Comments, func(g *ast.CommentGroup) bool {
		return slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return c.Text == line })
	})
}

func (t *Tree) pure(c *checker, p *pkg) []Finding {
	var out []Finding
	for _, name := range p.alien {
		out = append(out, Finding{Pos: token.Position{Filename: name}, Msg: "a pure package holds Go files only"})
	}
	r := c.check(p.path)
	if r.err != nil {
		return append(out, Finding{Pos: token.Position{Filename: p.path}, Msg: "cannot be checked: " + r.err.Error()})
	}
	for _, f := range p.files {
		if f.test {
			continue
		}
		if !f.here && !constrained(f.ast, olderBuild) {
			out = append(out, t.at(f.ast.Name.Pos(),
				"a pure package is the same on every platform: no build constraint"))
		}
		if !f.here {
			continue
		}
		v := &visitor{tree: t, info: r.info, notes: notes(t.fset, f.ast), lines: map[int]bool{}}
		for _, s := range f.ast.Imports {
			imp := importPath(s)
			if slices.ContainsFunc(impureImports, func(base string) bool { return within(imp, base) }) {
				v.report(s.Pos(), "a pure package does not import %s", imp)
			}
		}
		ast.PreorderStack(f.ast, nil, v.visit)
		out = append(out, v.out...)
	}
	return out
}

// visitor collects the breaches of one file, one a line.
type visitor struct {
	tree  *Tree
	info  *types.Info
	notes map[int]bool
	lines map[int]bool
	out   []Finding
}

func (v *visitor) report(p token.Pos, format string, args ...any) {
	f := v.tree.at(p, format, args...)
	if !v.lines[f.Pos.Line] {
		v.lines[f.Pos.Line] = true
		v.out = append(v.out, f)
	}
}

func (v *visitor) visit(n ast.Node, stack []ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		v.report(n.Pos(), "go statement in a pure package")
	case *ast.SelectStmt:
		v.report(n.Pos(), "select in a pure package")
	case *ast.RangeStmt:
		v.rangeStmt(n)
	case *ast.Ident:
		v.ident(n, stack)
	}
	if e, ok := n.(ast.Expr); ok && isChan(v.info.TypeOf(e)) {
		v.report(n.Pos(), "channel in a pure package")
	}
	return true
}

// ident checks a use of an outside name, however it was imported.
func (v *visitor) ident(id *ast.Ident, stack []ast.Node) {
	obj := v.info.Uses[id]
	if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return // a builtin, a local, a field or a method
	}
	pkg, name := obj.Pkg().Path(), obj.Name()
	_, isFunc := obj.(*types.Func)
	switch {
	case slices.Contains(impureFuncs[pkg], name):
		v.report(id.Pos(), "%s.%s in a pure package: time and chance come in as arguments", pkg, name)
	case within(pkg, "math/rand") && isFunc && !strings.HasPrefix(name, "New"):
		v.report(id.Pos(), "%s.%s draws from the global generator: take a seed or a generator as an argument",
			pkg, name)
	case pkg == "maps" && isFunc:
		v.mapsFunc(id, name, stack)
	}
}

func isChan(t types.Type) bool {
	return anyCore(t, func(t types.Type) bool { _, ok := t.(*types.Chan); return ok })
}

// anyCore reports whether is holds for t's underlying type or, if t is a type parameter, for one of its constraint's.
func anyCore(t types.Type, is func(types.Type) bool) bool {
	if t == nil {
		return false
	}
	iface, ok := t.Underlying().(*types.Interface)
	if _, param := types.Unalias(t).(*types.TypeParam); !param || !ok {
		return is(t.Underlying())
	}
	for i := range iface.NumEmbeddeds() {
		switch e := iface.EmbeddedType(i).(type) {
		case *types.Union:
			for j := range e.Len() {
				if is(e.Term(j).Type().Underlying()) {
					return true
				}
			}
		default:
			if is(e.Underlying()) {
				return true
			}
		}
	}
	return false
}
