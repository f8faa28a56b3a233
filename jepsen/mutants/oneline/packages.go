package oneline

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// suites are the packages that are mutated and the packages whose tests are run on their mutants, the own ones first.
var suites = map[string][]string{
	"lease":                    {"lease", "server/replica/elector", "server/replica/leases", "server/replica", "jepsen/sim"},
	"lease/named":              {"lease/named", "server/replica/leases", "jepsen/sim"},
	"multipaxos":               {"multipaxos", "server/replica", "jepsen/sim"},
	"kv":                       {"kv", "server/replica", "server/web", "storage", "jepsen/sim"},
	"server/replica":           {"server/replica", "jepsen/sim", "server"},
	"server/replica/elector":   {"server/replica/elector", "server/replica", "jepsen/sim", "server"},
	"server/replica/leases":    {"server/replica/leases", "jepsen/sim", "server"},
	"server/replica/clocks":    {"server/replica/clocks", "server/runner"},
	"server/replica/snapshots": {"server/replica/snapshots", "jepsen/sim", "server"},
	"server/runner":            {"server/runner", "server"},
	"server/backend":           {"server/backend", "server"},
	"server/archive":           {"server/archive", "server/archiver", "server/recovery", "server"},
	"server/archiver":          {"server/archiver", "server"},
	"server/backup":            {"server/backup", "server/recovery", "cmd/kvctl"},
	"server/recovery":          {"server/recovery", "cmd/kvnode"},
	"server/service":           {"server/service", "server/web", "server/resp", "server"},
	"server/web":               {"server/web", "server", "client"},
	"server/watch":             {"server/watch", "server/web", "server"},
	"client":                   {"client"},
	"storage":                  {"storage", "server"},
	"storage/internal/disk":    {"storage/internal/disk", "storage/internal/acceptor", "storage/internal/state", "storage"},
	"storage/internal/sealed": {"storage/internal/sealed", "storage/internal/acceptor", "storage/internal/state",
		"storage"},
	"storage/internal/space": {"storage/internal/space", "storage/internal/acceptor", "storage/internal/state",
		"storage"},
	"storage/internal/acceptor": {"storage/internal/acceptor", "storage", "server"},
	"storage/internal/state":    {"storage/internal/state", "storage", "server"},
	"storage/internal/pages": {"storage/internal/pages", "storage/internal/acceptor", "storage/internal/state", "storage",
		"server"},
}

// noKillers are tests that compare the hash of a whole trace: any change fails them.
var noKillers = map[string]bool{"jepsen/sim TestTraceHashes": true}

// pkg is a package that is mutated.
type pkg struct {
	dir   string // relative to the module's root
	path  string
	name  string
	fset  *token.FileSet
	files []*file
	info  types.Info
	conf  types.Config
}

type file struct {
	name string // relative to the module's root
	src  []byte
	ast  *ast.File
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
	Standard                      bool
}

// load reads and type-checks the packages in dirs.
func load(root string, dirs []string) ([]*pkg, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Name,Export,GoFiles,Standard"}
	for _, d := range dirs {
		args = append(args, "./"+d)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all, exports := map[string]listed{}, map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.Standard {
			if rel, err := filepath.Rel(root, l.Dir); err == nil {
				all[filepath.ToSlash(rel)] = l
			}
		}
	}
	fset := token.NewFileSet()
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imp := importer.ForCompiler(fset, "gc", lookup)
	var ps []*pkg
	for _, d := range dirs {
		l, ok := all[d]
		if !ok {
			return nil, fmt.Errorf("there is no package %s", d)
		}
		p := &pkg{dir: d, path: l.ImportPath, name: l.Name, fset: fset}
		p.conf = types.Config{Importer: imp}
		if err := p.read(root, l.GoFiles); err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}

func (p *pkg) read(root string, names []string) error {
	var parsed []*ast.File
	for _, name := range names {
		rel := p.dir + "/" + name
		src, err := os.ReadFile(filepath.Join(root, rel))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(p.fset, rel, src, parser.ParseComments)
		if err != nil {
			return err
		}
		p.files = append(p.files, &file{rel, src, f})
		parsed = append(parsed, f)
	}
	p.info = types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	_, err := p.conf.Check(p.path, p.fset, parsed, &p.info)
	return err
}

// compiles reports whether the package compiles with m. Imports that m leaves unused do not count: the copy that is
// run stands beside the original, which uses them. Only the bodies that m can affect are looked at.
func (p *pkg) compiles(m *Mutant) bool {
	var files []*ast.File
	for _, f := range p.files {
		if f.name != m.File {
			files = append(files, without(f.ast, m.Func == "", ""))
			continue
		}
		parsed, err := parser.ParseFile(p.fset, f.name, m.apply(f.src), parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		files = append(files, without(parsed, m.Func == "", m.Func))
	}
	good := true
	conf := types.Config{Importer: p.conf.Importer, Error: func(err error) {
		// "x imported and not used", or "x imported as y and not used"
		text := err.Error()
		if m.Func == "" || !strings.Contains(text, " imported ") || !strings.HasSuffix(text, " and not used") {
			good = false
		}
	}}
	_, _ = conf.Check(p.path, p.fset, files, nil) // its errors have gone to conf.Error
	return good
}

// without returns f without the bodies of its functions but the named one; all if it is f itself that is wanted.
func without(f *ast.File, all bool, name string) *ast.File {
	if all {
		return f
	}
	c := *f
	c.Decls = make([]ast.Decl, len(f.Decls))
	for i, d := range f.Decls {
		c.Decls[i] = d
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name == "init" || fn.Type.TypeParams != nil || funcName(fn) == name {
			continue
		}
		if fn.Recv != nil {
			if _, generic := base(fn.Recv.List[0].Type).(*ast.IndexExpr); generic {
				continue
			}
		}
		bare := *fn
		bare.Body = nil
		c.Decls[i] = &bare
	}
	return &c
}

func base(t ast.Expr) ast.Expr {
	if s, ok := t.(*ast.StarExpr); ok {
		return s.X
	}
	return t
}
