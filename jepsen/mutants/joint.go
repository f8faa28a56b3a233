package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tenure/jepsen/mutants/schemata"
)

// chooseEnv has the number of the mutant that a test binary of a joint build is, and nothing for the code as it is.
const chooseEnv = "TENURE_MUTANT"

// joint is one program that holds many mutants: most patches change the bodies of some functions, and a test binary
// that chooses between the versions of these when it starts is compiled once for all. A patch that changes anything
// else (a constant, a type, a signature) has a build of its own.
type joint struct {
	overlay string
	number  map[string]int // by the name of the mutant; those that have builds of their own are not in it
}

// chooserText is added to each package with joint mutants.
const chooserText = `package %s

import (
	mutantOS "os"
	mutantStrconv "strconv"
)

var chosenMutant = func() int {
	n, _ := mutantStrconv.Atoi(mutantOS.Getenv(%q))
	return n
}()
`

const chooserFile = "zz_chosen_mutant.go"

// join writes the overlay of all mutants that can be in one program to dir.
func join(root, dir string, ms []Mutant) (*joint, error) {
	j := &joint{number: map[string]int{}}
	files := map[string]*jointFile{}
	for i := range ms {
		changed, err := ms[i].changed(root)
		if err != nil {
			continue // try says so
		}
		if err := j.add(root, files, &ms[i], changed); err != nil {
			return nil, err
		}
	}
	replace := map[string]string{}
	put := func(rel, text string) error {
		to := filepath.Join(dir, strings.ReplaceAll(rel, "/", "__"))
		replace[filepath.Join(root, rel)] = to
		return os.WriteFile(to, []byte(text), 0o600)
	}
	for _, name := range sortedKeys(files) {
		f := files[name]
		if len(f.versions) == 0 {
			continue
		}
		if err := put(name, f.text()); err != nil {
			return nil, err
		}
		chooser := fmt.Sprintf(chooserText, f.ast.Name.Name, chooseEnv)
		if err := put(path.Join(path.Dir(name), chooserFile), chooser); err != nil {
			return nil, err
		}
	}
	var err error
	j.overlay, err = schemata.WriteOverlay(dir, replace)
	return j, err
}

// changed returns the texts of the files that m changes.
func (m *Mutant) changed(root string) (map[string]string, error) {
	ps, err := m.patches(root)
	if err != nil {
		return nil, err
	}
	return applyAll(root, ps)
}

// add numbers m and adds its versions of functions to files, or leaves m out.
func (j *joint) add(root string, files map[string]*jointFile, m *Mutant, changed map[string]string) error {
	number := len(j.number) + 1
	versions := map[string]map[string]string{}
	for _, name := range sortedKeys(changed) {
		f := files[name]
		if f == nil {
			src, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return err
			}
			if f, err = parseJoint(src); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			files[name] = f
		}
		vs, ok := f.compare(changed[name], number)
		if !ok || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		versions[name] = vs
	}
	for name, vs := range versions {
		for fn, text := range vs {
			f := files[name]
			f.versions = append(f.versions, text)
			f.ids[fn] = append(f.ids[fn], number)
		}
	}
	j.number[m.Name] = number
	return nil
}

// jointFile is a file of which mutants have other versions of functions.
type jointFile struct {
	src      []byte
	fset     *token.FileSet
	ast      *ast.File
	skeleton string
	funcs    map[string]schemata.Func
	ids      map[string][]int // numbers of the mutants with versions of a function
	versions []string         // their texts
}

func parseJoint(src []byte) (*jointFile, error) {
	f := &jointFile{src: src, fset: token.NewFileSet(), funcs: map[string]schemata.Func{}, ids: map[string][]int{}}
	var err error
	if f.ast, err = parser.ParseFile(f.fset, "", src, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	f.skeleton = f.outline()
	return f, nil
}

// outline returns the file without the bodies of functions, whose order it shows, and fills funcs.
func (f *jointFile) outline() string {
	var cut []schemata.Edit
	for _, d := range f.ast.Decls {
		decl, ok := d.(*ast.FuncDecl)
		fn := schemata.Func{Fset: f.fset, Src: f.src, Decl: decl}
		if !ok || !fn.CanChoose() {
			continue
		}
		_, to := fn.Extent()
		body := fn.Offset(decl.Body)
		key := string(f.src[fn.Offset(decl):body])
		f.funcs[key] = fn
		cut = append(cut, schemata.Edit{From: body, To: to})
		if decl.Doc != nil {
			cut = append(cut, schemata.Edit{From: fn.Offset(decl.Doc), To: fn.Offset(decl.Doc) + len(docText(f.src, fn))})
		}
	}
	return schemata.Apply(f.src, cut)
}

// docText returns the doc comment of a function as it stands in src.
func docText(src []byte, fn schemata.Func) string {
	from := fn.Offset(fn.Decl.Doc)
	return string(src[from:fn.Fset.Position(fn.Decl.Doc.End()).Offset])
}

// compare returns the functions of which text has other bodies, each as version number of it, and false if text differs
// in more than bodies of functions.
func (f *jointFile) compare(text string, number int) (map[string]string, bool) {
	other, err := parseJoint([]byte(text))
	if err != nil || other.skeleton != f.skeleton || len(other.funcs) != len(f.funcs) {
		return nil, false
	}
	out := map[string]string{}
	for _, key := range sortedKeys(f.funcs) {
		here, there := f.funcs[key], other.funcs[key]
		if there.Decl == nil {
			return nil, false
		}
		if version := there.Version(number); version != here.Version(number) {
			out[key] = "\n\n" + version
		}
	}
	return out, len(out) > 0
}

// text returns the file with all versions of its functions, and the functions as those that choose.
func (f *jointFile) text() string {
	var edits []schemata.Edit
	for key, ids := range f.ids {
		edits = append(edits, f.funcs[key].Dispatch("chosenMutant != 0", "chosenMutant", ids)...)
	}
	return schemata.Apply(f.src, edits) + strings.Join(f.versions, "") + "\n"
}
