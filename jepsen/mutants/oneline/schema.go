package oneline

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"strings"

	"tenure/jepsen/mutants/schemata"
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
			var edits []schemata.Edit
			var copies strings.Builder
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				whole := schemata.Func{Fset: p.fset, Src: f.src, Decl: fn}
				if !whole.CanChoose() {
					continue
				}
				name := reachName(f.name, funcName(fn))
				var ids []int
				first := next
				for _, m := range byFunc[name] {
					m.id = next
					ids = append(ids, m.id)
					next++
					copies.WriteString(variant(whole, m))
				}
				condition := fmt.Sprintf("oneLineOn(%d, %q, %d, %d)", funcs, name, first, next-1)
				edits = append(edits, whole.Dispatch(condition, "oneLineID", ids)...)
				funcs++
			}
			if err := put(f.name, schemata.Apply(f.src, edits)+copies.String()); err != nil {
				return "", err
			}
		}
		if err := put(p.dir+"/"+helper, fmt.Sprintf(helperText, p.name, chooseEnv, reachEnv, funcs)); err != nil {
			return "", err
		}
	}
	return schemata.WriteOverlay(dir, replace)
}

// single writes the overlay of one mutant.
func single(root, dir string, m *Mutant) (string, error) {
	for _, f := range m.pkg.files {
		if f.name == m.File {
			to := filepath.Join(dir, "single.go")
			if err := os.WriteFile(to, m.apply(f.src), 0o600); err != nil {
				return "", err
			}
			return schemata.WriteOverlay(dir, map[string]string{filepath.Join(root, m.File): to})
		}
	}
	return "", fmt.Errorf("%s is not read", m.File)
}

// variant is the whole function with m's change, under a name of its own.
func variant(fn schemata.Func, m *Mutant) string {
	from, to := fn.Extent()
	name := fn.Offset(fn.Decl.Name)
	return "\n\n" + string(fn.Src[from:name]) + fn.VersionName(m.id) +
		string(fn.Src[name+len(fn.Decl.Name.Name):m.from]) + m.text + string(fn.Src[m.to:to])
}
