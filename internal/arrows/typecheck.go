package arrows

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// checker type-checks packages of the module from their sources, and takes outside packages from the go command's
// build cache.
type checker struct {
	tree    *Tree
	outside types.Importer
	done    map[string]*checked
}

type checked struct {
	pkg  *types.Package
	info *types.Info
	err  error
}

// newChecker prepares for these packages and all that they import.
func (t *Tree) newChecker(pkgs []string) (*checker, error) {
	exports, err := t.exports(t.outsideOf(pkgs))
	if err != nil {
		return nil, err
	}
	lookup := func(imp string) (io.ReadCloser, error) {
		name, ok := exports[imp]
		if !ok {
			return nil, fmt.Errorf("no export data of %s", imp)
		}
		return os.Open(name)
	}
	return &checker{
		tree: t, outside: importer.ForCompiler(t.fset, "gc", lookup), done: map[string]*checked{},
	}, nil
}

// outsideOf lists what these packages import from elsewhere, directly or through other packages of the module.
func (t *Tree) outsideOf(pkgs []string) []string {
	seen, out := map[string]bool{}, []string{}
	var visit func(path string)
	visit = func(path string) {
		p := t.pkgs[path]
		if p == nil || seen[path] {
			return
		}
		seen[path] = true
		for _, f := range p.files {
			if f.test || !f.here {
				continue
			}
			for _, s := range f.ast.Imports {
				imp := importPath(s)
				if to, ours := t.local(imp); ours {
					visit(to)
				} else if !seen[imp] && imp != "unsafe" && imp != "C" {
					seen[imp] = true
					out = append(out, imp)
				}
			}
		}
	}
	for _, p := range pkgs {
		visit(p)
	}
	return out
}

// exports maps import paths to files of export data.
func (t *Tree) exports(imports []string) (map[string]string, error) {
	if len(imports) == 0 {
		return nil, nil
	}
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "--"}, imports...)
	cmd := exec.Command("go", args...)
	cmd.Dir = t.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	m := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if imp, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name != "" {
			m[imp] = name
		}
	}
	return m, nil
}

// Import implements types.Importer.
func (c *checker) Import(imp string) (*types.Package, error) {
	path, ours := c.tree.local(imp)
	if !ours {
		return c.outside.Import(imp)
	}
	r := c.check(path)
	return r.pkg, r.err
}

func (c *checker) check(path string) *checked {
	if r := c.done[path]; r != nil {
		return r
	}
	r := &checked{err: fmt.Errorf("%s has no Go files, or imports itself", path)}
	c.done[path] = r
	p := c.tree.pkgs[path]
	if p == nil {
		return r
	}
	var files []*ast.File
	for _, f := range p.files {
		if f.here && !f.test {
			files = append(files, f.ast)
		}
	}
	r.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
		Defs:  map[*ast.Ident]types.Object{},
	}
	conf := types.Config{Importer: c}
	r.pkg, r.err = conf.Check(c.tree.module+"/"+path, c.tree.fset, files, r.info)
	return r
}
