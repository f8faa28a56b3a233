package arrows

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

const noteMark = "unordered:"

// notes returns the lines for which a comment says why the order of a map cannot matter: its own and the next.
func notes(fset *token.FileSet, f *ast.File) map[int]bool {
	m := map[int]bool{}
	for _, g := range f.Comments {
		for _, c := range g.List {
			text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
			if why, ok := strings.CutPrefix(text, noteMark); ok && strings.TrimSpace(why) != "" {
				line, last := fset.Position(c.Pos()).Line, fset.Position(g.End()).Line
				m[line], m[last+1] = true, true
			}
		}
	}
	return m
}

func (v *visitor) noted(p token.Pos) bool { return v.notes[v.tree.fset.Position(p).Line] }

func (v *visitor) rangeStmt(n *ast.RangeStmt) {
	t := v.info.TypeOf(n.X)
	if anyCore(t, func(t types.Type) bool { _, ok := t.(*types.Map); return ok }) && !v.noted(n.Pos()) {
		v.report(n.Pos(), "range over a map in a pure package: sort, or say why not with //%s …", noteMark)
	}
}

// mapsFunc checks the functions of package maps that visit in the order of the map. Sorting what they return at
// once is fine.
func (v *visitor) mapsFunc(id *ast.Ident, name string, stack []ast.Node) {
	switch name {
	case "All", "Keys", "Values":
	default:
		return
	}
	if !v.noted(id.Pos()) && !v.sortedAtOnce(stack) {
		v.report(id.Pos(), "maps.%s visits in the map's order: sort, or say why not with //%s …", name, noteMark)
	}
}

// sortedAtOnce reports whether the innermost call but one around is of slices.Sorted and its like.
func (v *visitor) sortedAtOnce(stack []ast.Node) bool {
	calls := 0
	for i := len(stack) - 1; i >= 0; i-- {
		call, ok := stack[i].(*ast.CallExpr)
		if !ok {
			continue
		}
		if calls++; calls < 2 {
			continue
		}
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return false
		}
		f, ok := v.info.Uses[sel.Sel].(*types.Func)
		return ok && f.Pkg() != nil && f.Pkg().Path() == "slices" && strings.HasPrefix(f.Name(), "Sorted")
	}
	return false
}
