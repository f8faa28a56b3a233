package oneline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"
)

// Verdict is what became of a mutant.
type Verdict string

// The verdicts.
const (
	Killed      Verdict = "killed"
	TookLong    Verdict = "killed by time"
	TookMemory  Verdict = "killed by memory"
	Survived    Verdict = "SURVIVED"
	NotCompiled Verdict = "does not compile"
	Equal       Verdict = "equal" // it survived, and equal.toml says why
)

// result is a line of the results file. A later line of the same mutant replaces an earlier one.
type result struct {
	Mutant
	Verdict Verdict `json:"verdict"`
	By      string  `json:"by,omitempty"` // package and test
	Tests   int     `json:"tests"`        // that call the mutant's function
	Quick   bool    `json:"quick,omitempty"`
	Seconds float64 `json:"seconds"`
}

// results is the file that a run appends to.
type results struct {
	path string
	old  map[string]result
}

func openResults(path string) (*results, error) {
	r := &results{path: path, old: map[string]result{}}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReader(f))
	for {
		var x result
		err := d.Decode(&x)
		switch {
		case errors.Is(err, io.EOF):
			return r, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r.old[x.Key()] = x
	}
}

func (r *results) add(x result) error {
	r.old[x.Key()] = x
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// equals are the survivors that change nothing, with the reason.
type equals struct {
	Equal []struct {
		File, Func, Old, New, Why string
		Operator                  string
	}
}

// loadEquals returns the reasons by mutant, without its number among those that read alike.
func loadEquals(root string) (map[string]string, error) {
	path := filepath.Join(root, "jepsen/mutants/oneline/equal.toml")
	var e equals
	if meta, err := toml.DecodeFile(path, &e); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	} else if left := meta.Undecoded(); len(left) > 0 {
		return nil, fmt.Errorf("%s: unknown key %v", path, left[0])
	}
	why := map[string]string{}
	for _, x := range e.Equal {
		if x.File == "" || x.Old == "" || x.Why == "" {
			return nil, fmt.Errorf("%s: file, old and why are needed, in %q", path, x.Old)
		}
		why[equalKey(x.File, x.Func, x.Old, x.New)] = x.Why
	}
	return why, nil
}

func equalKey(file, fn, old, now string) string { return file + "\n" + fn + "\n" + old + "\n" + now }

func (m *Mutant) equalKey() string { return equalKey(m.File, m.Func, m.Old, m.New) }
