package mutants

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tenure/jepsen/mutants/schemata"
)

// chooseEnv has the number of the mutant that a test binary of a joint build is, and nothing for the code as it is.
const chooseEnv = "TENURE_MUTANT"

// joint is one program that holds many mutants. Most patches change the bodies of some functions, or the initial values
// of a package's variables. For these one test binary is compiled once, and chooses between the versions when it
// starts. A patch that changes anything else (a constant, a type, a signature) has a build of its own.
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

func mutantValue[T any](real T, ids []int, others ...T) T {
	for i, id := range ids {
		if id == chosenMutant {
			return others[i]
		}
	}
	return real
}
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
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		if !f.changes() {
			continue
		}
		if err := put(name, f.joined()); err != nil {
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
	versions := map[string]changes{}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
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
	for name, c := range versions {
		files[name].take(number, c)
	}
	j.number[m.Name] = number
	return nil
}
