package oneline

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

const (
	chooseEnv = "TENURE_ONE_LINE"       // the id of the mutant that a process runs
	reachEnv  = "TENURE_ONE_LINE_REACH" // a file to which it appends the names of the functions that it calls
	helper    = "zz_one_line.go"
)

// helperText is added to each mutated package.
const helperText = `package %s

import (
	oneLineOS "os"
	oneLineStrconv "strconv"
	oneLineAtomic "sync/atomic"
)

var oneLineID = func() int {
	n, _ := oneLineStrconv.Atoi(oneLineOS.Getenv(%q))
	return n
}()

var oneLineReach = func() *oneLineOS.File {
	path := oneLineOS.Getenv(%q)
	if path == "" {
		return nil
	}
	f, err := oneLineOS.OpenFile(path, oneLineOS.O_APPEND|oneLineOS.O_CREATE|oneLineOS.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return f
}()

var oneLineSeen [%d]oneLineAtomic.Bool

// oneLineOn notes that the named function was called and reports whether one of its mutants is chosen.
func oneLineOn(i int, name string, first, last int) bool {
	if oneLineReach != nil && !oneLineSeen[i].Swap(true) {
		_, _ = oneLineReach.WriteString(name + "\n")
	}
	return first <= oneLineID && oneLineID <= last
}
`

// edit replaces some bytes of a file.
type edit struct {
	from, to int
	text     string
}

func applyEdits(src []byte, edits []edit) string {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].from < edits[j].from })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.Write(src[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.Write(src[at:])
	return b.String()
}

// reachName is what a function is called in reach files.
func reachName(file, fn string) string { return file + " " + fn }

// instrument numbers the mutants that are inside functions and writes the overlay of all packages to dir. It returns
// the path of go's description of it.
func instrument(root, dir string, ps []*pkg, ms []*Mutant) (string, error) {
	byFunc := map[string][]*Mutant{}
	for _, m := range ms {
		if m.Func != "" {
			name := reachName(m.File, m.Func)
			byFunc[name] = append(byFunc[name], m)
		}
	}
	replace, next := map[string]string{}, 1
	put := func(rel, text string) error {
		to := filepath.Join(dir, strings.ReplaceAll(rel, "/", "__"))
		replace[filepath.Join(root, rel)] = to
		return os.WriteFile(to, []byte(text), 0o600)
	}
	for _, p := range ps {
		funcs := 0
		for _, f := range p.files {
			var edits []edit
			var copies strings.Builder
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil || fn.Name.Name == "init" || fn.Name.Name == "_" {
					continue
				}
				name := reachName(f.name, funcName(fn))
				s := splitter{p: p, f: f, fn: fn, index: funcs, first: next}
				funcs++
				for _, m := range byFunc[name] {
					m.id = next
					next++
					copies.WriteString(s.copy(m))
				}
				edits = append(edits, s.dispatch(name, next-1)...)
			}
			if err := put(f.name, applyEdits(f.src, edits)+copies.String()); err != nil {
				return "", err
			}
		}
		if err := put(p.dir+"/"+helper, fmt.Sprintf(helperText, p.name, chooseEnv, reachEnv, funcs)); err != nil {
			return "", err
		}
	}
	return writeOverlay(dir, replace)
}

func writeOverlay(dir string, replace map[string]string) (string, error) {
	j, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, j, 0o600)
}

// single writes the overlay of one mutant.
func single(root, dir string, m *Mutant) (string, error) {
	for _, f := range m.pkg.files {
		if f.name == m.File {
			to := filepath.Join(dir, "single.go")
			if err := os.WriteFile(to, m.apply(f.src), 0o600); err != nil {
				return "", err
			}
			return writeOverlay(dir, map[string]string{filepath.Join(root, m.File): to})
		}
	}
	return "", fmt.Errorf("%s is not read", m.File)
}

// splitter makes of one function a chooser and its mutants.
type splitter struct {
	p     *pkg
	f     *file
	fn    *ast.FuncDecl
	index int // of the function in its package
	first int // id of its first mutant
}

func (s *splitter) offset(n ast.Node) int { return s.p.fset.Position(n.Pos()).Offset }

// copy is the whole function with m's change, under a name of its own.
func (s *splitter) copy(m *Mutant) string {
	from, to := s.offset(s.fn), s.p.fset.Position(s.fn.End()).Offset
	name := s.offset(s.fn.Name)
	text := string(s.f.src[from:name]) + copyName(s.fn, m.id) + string(s.f.src[name+len(s.fn.Name.Name):m.from]) + m.text + string(s.f.src[m.to:to])
	return "\n\n" + text
}

func copyName(fn *ast.FuncDecl, id int) string { return fmt.Sprintf("oneLine%d_%s", id, fn.Name.Name) }

// dispatch has the function note that it was called and call the chosen mutant in its place. Parameters without a name
// get one.
func (s *splitter) dispatch(name string, last int) []edit {
	var edits []edit
	var b strings.Builder
	fmt.Fprintf(&b, " if oneLineOn(%d, %q, %d, %d) {", s.index, name, s.first, last)
	if last < s.first {
		b.WriteString("}; ")
		at := s.offset(s.fn.Body) + 1
		return []edit{{at, at, b.String()}}
	}
	n := 0
	var receiver, args []string
	if s.fn.Recv != nil {
		receiver = s.names(s.fn.Recv, &n, &edits)
	}
	args = s.names(s.fn.Type.Params, &n, &edits)
	b.WriteString(" switch oneLineID {")
	for id := s.first; id <= last; id++ {
		fmt.Fprintf(&b, " case %d: ", id)
		if s.fn.Type.Results != nil && len(s.fn.Type.Results.List) > 0 {
			b.WriteString("return ")
		}
		if receiver != nil {
			b.WriteString(receiver[0] + ".")
		}
		b.WriteString(copyName(s.fn, id) + s.typeArgs() + "(" + strings.Join(args, ", ") + ")")
		if s.fn.Type.Results == nil || len(s.fn.Type.Results.List) == 0 {
			b.WriteString("; return")
		}
		b.WriteString(";")
	}
	b.WriteString(" } }; ")
	at := s.offset(s.fn.Body) + 1
	return append(edits, edit{at, at, b.String()})
}

func (s *splitter) typeArgs() string {
	if s.fn.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, f := range s.fn.Type.TypeParams.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// names returns the parameters as arguments, after giving a name to those that have none.
func (s *splitter) names(list *ast.FieldList, n *int, edits *[]edit) []string {
	var out []string
	fresh := func() string {
		*n++
		return fmt.Sprintf("oneLineP%d", *n)
	}
	for _, f := range list.List {
		dots := ""
		if _, variadic := f.Type.(*ast.Ellipsis); variadic {
			dots = "..."
		}
		if len(f.Names) == 0 {
			name := fresh()
			at := s.offset(f.Type)
			*edits = append(*edits, edit{at, at, name + " "})
			out = append(out, name+dots)
		}
		for _, id := range f.Names {
			name := id.Name
			if name == "_" {
				name = fresh()
				at := s.offset(id)
				*edits = append(*edits, edit{at, at + 1, name})
			}
			out = append(out, name+dots)
		}
	}
	return out
}
