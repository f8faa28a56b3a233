package acl

import (
	"errors"

	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	"github.com/hashicorp/hcl/hcl/scanner"
	"github.com/hashicorp/hcl/hcl/strconv"
	"github.com/hashicorp/hcl/hcl/token"
)

// readHCL reads HCL, version 1, which Consul's rules are written in.
func readHCL(src []byte) (value, error) {
	if err := scanHCL(src); err != nil {
		return value{}, err
	}
	file, err := parser.Parse(src)
	if err != nil {
		return value{}, hclError(err)
	}
	list, ok := file.Node.(*ast.ObjectList)
	if !ok {
		return value{}, wrong(0, "they are not understood")
	}
	return fromList(list, 1)
}

// scanHCL refuses two things before the parser runs: tokens that rules never contain, such as numbers and heredocs, and
// too deeply nested brackets, because the parser recurses for each.
func scanHCL(src []byte) error {
	var failed error
	s := scanner.New(src)
	s.Error = func(pos token.Pos, msg string) {
		if failed == nil {
			failed = wrong(pos.Line, "%s", msg)
		}
	}
	depth := 0
	var before token.Type
	for {
		t := s.Scan()
		if failed != nil {
			return failed
		}
		switch t.Type {
		case token.EOF:
			return nil
		case token.LBRACE, token.LBRACK:
			if depth++; depth > maxDepth {
				return wrong(t.Pos.Line, "blocks are nested too deeply")
			}
		case token.RBRACE, token.RBRACK:
			depth--
		case token.IDENT:
			if before == token.ASSIGN {
				return wrong(t.Pos.Line, "%.40s must stand in quotes", t.Text)
			}
		case token.STRING, token.BOOL, token.ASSIGN, token.COMMA, token.COMMENT:
		default:
			return wrong(t.Pos.Line, "%.40q is nothing that rules have", t.Text)
		}
		before = t.Type
	}
}

func hclError(err error) error {
	var at *parser.PosError
	if errors.As(err, &at) {
		return wrong(at.Pos.Line, "%s", at.Err)
	}
	return wrong(0, "%s", err) // a member that stands twice; the text has its line
}

func fromList(list *ast.ObjectList, line int) (value, error) {
	out := value{line: line, shape: isObject}
	for _, item := range list.Items {
		m, err := fromItem(item)
		if err != nil {
			return value{}, err
		}
		out.members = append(out.members, m)
	}
	return out, nil
}

// fromItem puts the value of the item below its names, each below the one before.
func fromItem(item *ast.ObjectItem) (member, error) {
	if len(item.Keys) == 0 {
		return member{}, wrong(item.Pos().Line, "a value without a name")
	}
	last := item.Keys[len(item.Keys)-1]
	v, err := fromNode(item.Val, last.Pos().Line)
	if err != nil {
		return member{}, err
	}
	for i := len(item.Keys) - 1; i >= 0; i-- {
		key := item.Keys[i].Token
		name, err := text(key)
		if err != nil {
			return member{}, err
		}
		m := member{line: key.Pos.Line, name: name, value: v}
		if i == 0 {
			return m, nil
		}
		v = value{line: key.Pos.Line, shape: isObject, members: []member{m}}
	}
	panic("unreachable: an item has a name")
}

func fromNode(n ast.Node, line int) (value, error) {
	switch n := n.(type) {
	case *ast.ObjectType:
		return fromList(n.List, n.Lbrace.Line)
	case *ast.ListType:
		out := value{line: n.Lbrack.Line, shape: isList}
		for _, e := range n.List {
			v, err := fromNode(e, out.line)
			if err != nil {
				return value{}, err
			}
			out.items = append(out.items, v)
		}
		return out, nil
	case *ast.LiteralType:
		if n.Token.Type != token.STRING {
			return value{line: n.Token.Pos.Line, shape: isOther}, nil
		}
		s, err := text(n.Token)
		return value{line: n.Token.Pos.Line, shape: isText, text: s}, err
	}
	return value{}, wrong(line, "it is not understood")
}

// text returns what a name or a quoted text says. Token.Value would panic where this returns an error.
func text(t token.Token) (string, error) {
	if t.Type != token.STRING {
		return t.Text, nil
	}
	s, err := strconv.Unquote(t.Text)
	if err != nil {
		return "", wrong(t.Pos.Line, "%.80s is no quoted text: write \\ as \\\\", t.Text)
	}
	return s, nil
}
