package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"tenure/jepsen/mutants/schemata"
)

// jointFile is a file of which mutants have other versions of functions, and other values of variables.
type jointFile struct {
	src      []byte
	fset     *token.FileSet
	ast      *ast.File
	skeleton string
	funcs    map[string]schemata.Func  // by signature
	ids      map[string][]int          // numbers of the mutants with versions of a function
	versions []string                  // their texts
	vars     map[string]*ast.ValueSpec // by name
	values   map[string][]value        // of mutants
}

// value is what a variable of a package begins with in the mutant of that number.
type value struct {
	number int
	text   string
}

// changes are what one mutant has in a file: functions by signature and values of variables by name.
type changes struct{ funcs, vars map[string]string }

func parseJoint(src []byte) (*jointFile, error) {
	f := &jointFile{src: src, fset: token.NewFileSet(), funcs: map[string]schemata.Func{}, ids: map[string][]int{},
		vars: map[string]*ast.ValueSpec{}, values: map[string][]value{}}
	var err error
	if f.ast, err = parser.ParseFile(f.fset, "", src, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	f.skeleton = f.outline()
	return f, nil
}

// outline returns the file without the bodies of functions and the values of variables, whose order it shows, and fills
// funcs and vars. Of a function it has the types of the parameters, not their names.
func (f *jointFile) outline() string {
	var cut []schemata.Edit
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			fn := schemata.Func{Fset: f.fset, Src: f.src, Decl: d}
			if !fn.CanChoose() {
				continue
			}
			key := f.signature(d)
			f.funcs[key] = fn
			from, to := fn.Extent()
			cut = append(cut, schemata.Edit{From: from, To: to, Text: key})
			if d.Doc != nil {
				from, to := f.extent(d.Doc)
				cut = append(cut, schemata.Edit{From: from, To: to})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if d.Tok != token.VAR || !ok || len(v.Names) != 1 || len(v.Values) != 1 || v.Names[0].Name == "_" {
					continue
				}
				f.vars[v.Names[0].Name] = v
				from, to := f.extent(v.Values[0])
				cut = append(cut, schemata.Edit{From: from, To: to})
			}
		}
	}
	return schemata.Apply(f.src, cut)
}

// extent returns where a node begins and ends in the file.
func (f *jointFile) extent(n ast.Node) (from, to int) {
	return f.fset.Position(n.Pos()).Offset, f.fset.Position(n.End()).Offset
}

func (f *jointFile) text(n ast.Node) string {
	from, to := f.extent(n)
	return string(f.src[from:to])
}

// signature returns the parts of a function that distinguish it, and that a version of it must repeat. Names of
// parameters are not among them, unless there are type parameters.
func (f *jointFile) signature(d *ast.FuncDecl) string {
	if d.Type.TypeParams != nil {
		from, _ := f.extent(d)
		to, _ := f.extent(d.Body)
		return string(f.src[from:to])
	}
	types := func(list *ast.FieldList) string {
		if list == nil {
			return ""
		}
		var out []string
		for _, p := range list.List {
			for range max(1, len(p.Names)) {
				out = append(out, f.text(p.Type))
			}
		}
		return strings.Join(out, ", ")
	}
	return fmt.Sprintf("func (%s) %s(%s) (%s)", types(d.Recv), d.Name.Name, types(d.Type.Params), types(d.Type.Results))
}

// compare returns the functions and values that text has otherwise, as those of mutant number, and false if text differs
// in more than these.
func (f *jointFile) compare(text string, number int) (changes, bool) {
	c := changes{funcs: map[string]string{}, vars: map[string]string{}}
	other, err := parseJoint([]byte(text))
	if err != nil || other.skeleton != f.skeleton || len(other.funcs) != len(f.funcs) || len(other.vars) != len(f.vars) {
		return c, false
	}
	for _, key := range slices.Sorted(maps.Keys(f.funcs)) {
		here, there := f.funcs[key], other.funcs[key]
		if there.Decl == nil {
			return c, false
		}
		if version := there.Version(number); version != here.Version(number) {
			c.funcs[key] = "\n\n" + version
		}
	}
	for name, v := range f.vars {
		there := other.vars[name]
		if there == nil {
			return c, false
		}
		if text := other.text(there.Values[0]); text != f.text(v.Values[0]) {
			c.vars[name] = text
		}
	}
	return c, len(c.funcs)+len(c.vars) > 0
}

// take notes what mutant number has otherwise.
func (f *jointFile) take(number int, c changes) {
	for _, key := range slices.Sorted(maps.Keys(c.funcs)) {
		f.versions = append(f.versions, c.funcs[key])
		f.ids[key] = append(f.ids[key], number)
	}
	for name, text := range c.vars {
		f.values[name] = append(f.values[name], value{number, text})
	}
}

// changes reports whether a mutant has anything otherwise.
func (f *jointFile) changes() bool { return len(f.ids)+len(f.values) > 0 }

// joined returns the file with all versions of its functions, the functions as those that choose, and variables whose
// values are chosen.
func (f *jointFile) joined() string {
	var edits []schemata.Edit
	for key, ids := range f.ids {
		edits = append(edits, f.funcs[key].Dispatch("chosenMutant != 0", "chosenMutant", ids)...)
	}
	for name, values := range f.values {
		edits = append(edits, f.choice(f.vars[name], values))
	}
	return schemata.Apply(f.src, edits) + strings.Join(f.versions, "") + "\n"
}

// choice has a variable begin with one of the values.
func (f *jointFile) choice(v *ast.ValueSpec, values []value) schemata.Edit {
	kind, ids, others := "", "", ""
	if v.Type != nil {
		kind = "[" + f.text(v.Type) + "]"
	}
	for _, x := range values {
		ids += fmt.Sprintf("%d, ", x.number)
		others += ", " + x.text
	}
	from, to := f.extent(v.Values[0])
	return schemata.Edit{From: from, To: to,
		Text: fmt.Sprintf("mutantValue%s(%s, []int{%s}%s)", kind, f.text(v.Values[0]), ids, others)}
}
