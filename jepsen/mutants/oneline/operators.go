package oneline

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// swaps are the operators that replace another.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.QUO},
	token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.OR},
	token.AND_NOT:    {token.AND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN},
	token.QUO_ASSIGN: {token.MUL_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN}, token.AND_ASSIGN: {token.OR_ASSIGN},
	token.XOR_ASSIGN: {token.OR_ASSIGN}, token.SHL_ASSIGN: {token.SHR_ASSIGN}, token.SHR_ASSIGN: {token.SHL_ASSIGN},
	token.AND_NOT_ASSIGN: {token.AND_ASSIGN}, token.INC: {token.DEC}, token.DEC: {token.INC},
}

// generator lists the mutants of one file.
type generator struct {
	p     *pkg
	f     *file
	fn    string
	body  *ast.BlockStmt // of the function
	out   []*Mutant
	taken map[string]bool // edits that are listed, by place and text
	keys  map[string]int
}

// mutants lists every change of the package, in the order of its files and lines.
func (p *pkg) mutants() []*Mutant {
	var out []*Mutant
	for _, f := range p.files {
		g := &generator{p: p, f: f, taken: map[string]bool{}, keys: map[string]int{}}
		for _, d := range f.ast.Decls {
			g.fn, g.body = "", nil
			if fn, ok := d.(*ast.FuncDecl); ok {
				g.fn, g.body = funcName(fn), fn.Body
				if fn.Body == nil || fn.Name.Name == "init" || fn.Name.Name == "_" {
					continue
				}
				g.walk(fn.Body)
				continue
			}
			g.walk(d)
		}
		out = append(out, g.out...)
	}
	return out
}

// funcName is like "forwards.add" for a method and "add" for a function.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		}
		return fn.Name.Name
	}
}

func (g *generator) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			if id, ok := x.Fun.(*ast.Ident); ok && id.Name == "panic" {
				return false // what it says is for people
			}
			if g.sizes(x) {
				return false
			}
			g.call(x)
		case *ast.CommClause:
			for _, s := range x.Body {
				g.walk(s)
			}
			return false
		case ast.Stmt:
			g.stmt(x)
		case ast.Expr:
			g.expr(x)
		}
		return true
	})
}

func (g *generator) offset(p token.Pos) int { return g.p.fset.Position(p).Offset }

func (g *generator) text(n ast.Node) string {
	return string(g.f.src[g.offset(n.Pos()):g.offset(n.End())])
}

// add lists the change that puts text in the place of the source from one position to another.
func (g *generator) add(operator string, from, to token.Pos, text string) {
	m := &Mutant{File: g.f.name, Func: g.fn, Operator: operator, pkg: g.p,
		from: g.offset(from), to: g.offset(to), text: text}
	edit := strconv.Itoa(m.from) + " " + strconv.Itoa(m.to) + " " + text
	if g.taken[edit] || string(g.f.src[m.from:m.to]) == text {
		return
	}
	g.taken[edit] = true
	m.show(g.f.src)
	key := m.Key()
	m.Nth = g.keys[key]
	g.keys[key]++
	g.out = append(g.out, m)
}

func (g *generator) replace(operator string, n ast.Node, text string) {
	g.add(operator, n.Pos(), n.End(), text)
}

func (g *generator) swap(operator string, at token.Pos, tok token.Token) {
	for _, by := range swaps[tok] {
		g.add(operator, at, at+token.Pos(len(tok.String())), by.String())
	}
}

func (g *generator) expr(n ast.Expr) {
	switch x := n.(type) {
	case *ast.BinaryExpr:
		g.swap("operator", x.OpPos, x.Op)
		if _, comparison := map[token.Token]bool{token.EQL: true, token.NEQ: true, token.LSS: true, token.LEQ: true,
			token.GTR: true, token.GEQ: true}[x.Op]; !comparison {
			g.replace("operand dropped", x, g.text(x.X))
			g.replace("operand dropped", x, g.text(x.Y))
		}
	case *ast.UnaryExpr:
		if x.Op == token.NOT || x.Op == token.SUB || x.Op == token.XOR {
			g.replace("sign dropped", x, g.text(x.X))
		}
	case *ast.BasicLit:
		g.number(x)
	case *ast.Ident:
		if _, isConst := g.p.info.Uses[x].(*types.Const); isConst && g.p.info.Uses[x].Pkg() == nil {
			switch x.Name {
			case "true":
				g.replace("constant", x, "false")
			case "false":
				g.replace("constant", x, "true")
			}
		}
	case *ast.CompositeLit:
		g.dropEach("element dropped", x.Elts)
	case *ast.SliceExpr:
		if x.Low != nil {
			g.replace("bound dropped", x.Low, "")
		}
		if x.High != nil && !x.Slice3 {
			g.replace("bound dropped", x.High, "")
		}
	}
}

// number changes an integer by one, and to 0.
func (g *generator) number(x *ast.BasicLit) {
	if x.Kind != token.INT {
		return
	}
	n, err := strconv.ParseUint(x.Value, 0, 64)
	if err != nil {
		return
	}
	g.replace("constant", x, strconv.FormatUint(n+1, 10))
	if n > 0 {
		g.replace("constant", x, strconv.FormatUint(n-1, 10))
		g.replace("constant", x, "0")
	}
}

// sizes reports whether x is a make, and walks its length: the capacity is a hint.
func (g *generator) sizes(x *ast.CallExpr) bool {
	id, ok := x.Fun.(*ast.Ident)
	if !ok || id.Name != "make" {
		return false
	}
	if _, isSlice := g.p.info.Types[x].Type.Underlying().(*types.Slice); isSlice && len(x.Args) > 1 {
		g.walk(x.Args[1])
	}
	return true
}

// dropEach lists the list without each of its elements.
func (g *generator) dropEach(operator string, list []ast.Expr) {
	for i, e := range list {
		switch {
		case i+1 < len(list):
			g.add(operator, e.Pos(), list[i+1].Pos(), "")
		case i > 0:
			g.add(operator, list[i-1].End(), e.End(), "")
		default:
			g.replace(operator, e, "")
		}
	}
}

func (g *generator) call(x *ast.CallExpr) {
	if id, ok := x.Fun.(*ast.Ident); ok {
		if _, builtin := g.p.info.Uses[id].(*types.Builtin); builtin {
			switch id.Name {
			case "min", "max":
				for _, a := range x.Args {
					g.replace("call replaced", x, g.text(a))
				}
			case "append":
				g.replace("call replaced", x, g.text(x.Args[0]))
			}
			return
		}
	}
	sig, ok := g.p.info.Types[x.Fun].Type.(*types.Signature)
	if !ok || !sig.Variadic() || x.Ellipsis.IsValid() {
		return
	}
	fixed := sig.Params().Len() - 1
	rest, ok := sig.Params().At(fixed).Type().(*types.Slice)
	if !ok || types.IsInterface(rest.Elem()) || len(x.Args) <= fixed+1 {
		return // arguments of any are mostly those of a message
	}
	g.dropEach("argument dropped", x.Args[fixed:])
}

func (g *generator) stmt(n ast.Stmt) {
	switch x := n.(type) {
	case *ast.ExprStmt:
		if call, ok := x.X.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
				return
			}
		}
		g.replace("statement removed", x, "")
	case *ast.AssignStmt:
		g.swap("operator", x.TokPos, x.Tok)
		if x.Tok != token.DEFINE && !isBlank(x) {
			g.replace("statement removed", x, "")
		}
	case *ast.IncDecStmt:
		g.swap("operator", x.TokPos, x.Tok)
		g.replace("statement removed", x, "")
	case *ast.DeferStmt, *ast.SendStmt:
		g.replace("statement removed", x, "")
	case *ast.BranchStmt:
		g.branch(x)
	case *ast.ReturnStmt:
		g.results(x)
	case *ast.IfStmt:
		g.condition(x.Cond)
	case *ast.SwitchStmt:
		for _, c := range x.Body.List {
			g.clause(c.(*ast.CaseClause), x.Tag == nil)
		}
	}
}

func isBlank(x *ast.AssignStmt) bool {
	for _, l := range x.Lhs {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// condition is taken for true, for false, and negated.
func (g *generator) condition(x ast.Expr) {
	g.replace("condition", x, "("+g.text(x)+") && false")
	g.replace("condition", x, "("+g.text(x)+") || true")
	switch y := x.(type) {
	case *ast.BinaryExpr:
		return // its operator is swapped
	case *ast.UnaryExpr:
		if y.Op == token.NOT {
			return // its sign is dropped
		}
	}
	g.replace("condition", x, "!("+g.text(x)+")")
}

func (g *generator) clause(c *ast.CaseClause, conditions bool) {
	for _, e := range c.List {
		if conditions {
			g.condition(e)
		}
	}
	if !conditions && len(c.List) > 1 {
		g.dropEach("case dropped", c.List)
	}
	if !conditions && len(c.Body) > 0 {
		g.add("body removed", c.Body[0].Pos(), c.Body[len(c.Body)-1].End(), "")
	}
}

func (g *generator) branch(x *ast.BranchStmt) {
	if x.Label == nil && x.Tok == token.BREAK {
		g.replace("branch", x, "continue")
	}
	if x.Label == nil && x.Tok == token.CONTINUE {
		g.replace("branch", x, "break")
	}
	g.replace("statement removed", x, "")
}

// results changes what is returned, by its type.
func (g *generator) results(x *ast.ReturnStmt) {
	if len(x.Results) == 0 {
		g.replace("statement removed", x, "")
	}
	for _, r := range x.Results {
		tv := g.p.info.Types[r]
		if tv.Type == nil || tv.IsNil() || tv.Value != nil {
			continue
		}
		switch t := tv.Type.Underlying().(type) {
		case *types.Basic:
			switch {
			case t.Info()&types.IsBoolean != 0:
				g.replace("result", r, "!("+g.text(r)+")")
			case t.Info()&types.IsNumeric != 0:
				g.replace("result", r, "0")
				g.replace("result", r, "("+g.text(r)+") + 1")
			case t.Info()&types.IsString != 0:
				g.replace("result", r, `""`)
			}
		case *types.Pointer, *types.Slice, *types.Map, *types.Interface, *types.Chan, *types.Signature:
			g.replace("result", r, "nil")
		}
	}
}
