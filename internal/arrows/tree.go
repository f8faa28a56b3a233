package arrows

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Finding is one breach of the rules.
type Finding struct {
	Pos token.Position // Filename is relative to the module; Line is 0 if the finding is about a whole package
	Msg string
}

// String formats the finding as compilers do.
func (f Finding) String() string {
	if f.Pos.Line == 0 {
		return f.Pos.Filename + ": " + f.Msg
	}
	return fmt.Sprintf("%s:%d: %s", f.Pos.Filename, f.Pos.Line, f.Msg)
}

// file is one parsed Go file.
type file struct {
	ast  *ast.File
	test bool
	here bool // its build constraints hold on this platform
}

// pkg is one directory with Go files.
type pkg struct {
	path  string // relative to the module, with slashes
	files []*file
	alien []string // sources that Go compiles or links but this package cannot check: assembly, C
}

// Tree is the parsed module.
type Tree struct {
	module string
	fset   *token.FileSet
	pkgs   map[string]*pkg
	root   string
}

// Load parses the module whose go.mod lies in root. Nested modules, testdata and hidden directories are left out.
func Load(root string) (*Tree, error) {
	mod, err := modulePath(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	t := &Tree{module: mod, fset: token.NewFileSet(), pkgs: map[string]*pkg{}, root: root}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return t.add(name)
		}
		if name == root {
			return nil
		}
		if base := d.Name(); base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") ||
			strings.HasPrefix(base, "_") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
			return fs.SkipDir
		}
		return nil
	})
	return t, err
}

func modulePath(name string) (string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "module" {
			return f[1], nil
		}
	}
	return "", errors.New(name + " names no module")
}

func (t *Tree) add(name string) error {
	rel, err := filepath.Rel(t.root, name)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	dir, base := path.Dir(rel), path.Base(rel)
	if strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") {
		return nil
	}
	switch filepath.Ext(base) {
	case ".go":
	case ".s", ".S", ".c", ".h", ".cc", ".syso":
		p := t.pkg(dir)
		p.alien = append(p.alien, rel)
		return nil
	default:
		return nil
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(t.fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	here, err := build.Default.MatchFile(filepath.Dir(name), base)
	if err != nil {
		return err
	}
	p := t.pkg(dir)
	p.files = append(p.files, &file{ast: f, test: strings.HasSuffix(base, "_test.go"), here: here})
	return nil
}

func (t *Tree) pkg(dir string) *pkg {
	if t.pkgs[dir] == nil {
		t.pkgs[dir] = &pkg{path: dir}
	}
	return t.pkgs[dir]
}

// Has reports whether the module has non-test Go files in the package at this path.
func (t *Tree) Has(path string) bool {
	p := t.pkgs[path]
	if p == nil {
		return false
	}
	for _, f := range p.files {
		if !f.test {
			return true
		}
	}
	return false
}

func (t *Tree) sorted() []*pkg {
	var ps []*pkg
	for _, p := range t.pkgs {
		if len(p.files) > 0 {
			ps = append(ps, p)
		}
	}
	sort.Slice(ps, func(i, j int) bool { return ps[i].path < ps[j].path })
	return ps
}

// local returns the import path relative to the module, if it is of the module.
func (t *Tree) local(imp string) (string, bool) {
	if imp == t.module {
		return ".", true
	}
	return strings.CutPrefix(imp, t.module+"/")
}

func (t *Tree) at(p token.Pos, format string, args ...any) Finding {
	return Finding{Pos: t.fset.Position(p), Msg: fmt.Sprintf(format, args...)}
}

func importPath(s *ast.ImportSpec) string {
	p, _ := strconv.Unquote(s.Path.Value) // the parser has checked it
	return p
}

// standard reports whether an import path is of the standard library: its first element has no dot.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}
