package recovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenure/internal/codec"
	"tenure/internal/lostfound"
	"tenure/kv"
	"tenure/storage"
)

// snapshot is every file of a directory, with its time.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = info.ModTime().String() + string(b)
	}
	return all
}

// spoil inverts a byte of the last page of a file that is not zeros.
func spoil(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	invert(t, path, int64(len(bytes.TrimRight(b, "\x00"))-1))
}

// spoilSums inverts a bit of the checksum of each of the first pages.
func spoilSums(t *testing.T, path string) {
	t.Helper()
	for id := range int64(8) {
		invert(t, path, 4096+4*id)
	}
}

// spoilMeta inverts a bit of a bbolt file's first meta page.
func spoilMeta(t *testing.T, path string) {
	t.Helper()
	invert(t, path, 40)
}

// invert inverts a bit of a byte.
func invert(t *testing.T, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatal(err)
	}
}

var checked = log{state: 2, chosen: 4, entries: []string{"a=1", "b=2", "c=3", "-", "d=5"}}

func TestCheckSaysWhatIsWrongAndChangesNothing(t *testing.T) {
	for _, c := range []struct {
		file string
		do   func(t *testing.T, path string)
		says string
	}{
		{"log.db", spoilMeta, "the meta page at byte 0 fails its checksum"},
		{"state.db", spoilMeta, "the meta page at byte 0 fails its checksum"},
		{"state.sums", spoilSums, "state.db is whole"},
		{"journal", spoil, "fails its checksum"},
		{"journal", truncated, "it has 100 bytes and was made with"},
		{"state.db", truncated, "cannot be read"},
		{"log.db", missing, "the file is missing"},
		{"state.db", missing, "the file is missing"},
		{"journal", missing, "the file is missing"},
	} {
		w := newWorld(t, 1, 2, 3)
		dir := w.make(2, checked)
		r, err := Check(dir)
		if err != nil || !r.Sound || len(r.Problems) != 0 || r.Identity.Name != "rack 2" ||
			len(r.Identity.Members) != 3 ||
			r.Journal.Chosen != 4 || r.Journal.Last != 5 || r.State.Slot != 2 {
			t.Fatalf("undamaged: %+v %v", r, err)
		}
		c.do(t, filepath.Join(dir, c.file))
		before := snapshot(t, dir)
		r, err = Check(dir)
		if err != nil || r.Sound {
			t.Fatalf("%s: %+v %v", c.file, r, err)
		}
		if len(r.Problems) != 1 || r.Problems[0].File != c.file || !strings.Contains(r.Problems[0].Problem, c.says) {
			t.Errorf("%s, want %q: %+v", c.file, c.says, r.Problems)
		}
		if !strings.Contains(r.Do, "kvnode rejoin --data "+dir+" --join HOST:PORT") {
			t.Errorf("%s: what to do: %s", c.file, r.Do)
		}
		var out bytes.Buffer
		w.must(r.Write(&out))
		if !strings.Contains(out.String(), dir+": DAMAGED\n"+c.file+": ") {
			t.Errorf("%s: %s", c.file, &out)
		}
		out.Reset()
		w.must(r.WriteJSON(&out))
		var again Report
		w.must(json.Unmarshal(out.Bytes(), &again))
		if again.Sound || again.Problems[0].File != c.file {
			t.Errorf("%s, as JSON: %s", c.file, &out)
		}
		_, err = Inspect(dir, Inspection{Log: true, To: math.MaxUint64, State: true}, &out)
		w.must(err)
		if after := snapshot(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: files were changed", c.file)
		}
	}
}

// If only checksums are damaged, the only voter of a cluster can go on with its undamaged state.db, as the advice says.
func TestCheckSaysWhatToDoWithoutChecksums(t *testing.T) {
	const says = "move state.sums out of the directory"
	w := newWorld(t, 1)
	dir := w.make(1, log{state: 2, chosen: 3, entries: []string{"a=1", "b=2", "c=3"}})
	sums := filepath.Join(dir, "state.sums")
	spoilSums(t, sums)
	r, err := Check(dir)
	if err != nil || r.Sound || !strings.Contains(r.Do, says) {
		t.Fatalf("%+v %v", r, err)
	}
	if s, err := storage.Open(dir, small); !errors.Is(err, storage.ErrDamaged) {
		s.Close()
		t.Fatalf("it opens: %v", err)
	}
	journal := filepath.Join(dir, "journal")
	spoil(t, journal)
	if r, err = Check(dir); err != nil || r.Sound || strings.Contains(r.Do, says) {
		t.Errorf("with a damaged journal: %+v %v", r, err)
	}
	spoil(t, journal) // as it was
	missing(t, sums)
	s, err := storage.Open(dir, small)
	w.must(err)
	w.must(s.Close())
	if r, err = Check(dir); err != nil || !r.Sound {
		t.Fatalf("%+v %v", r, err)
	}
}

func truncated(t *testing.T, path string) {
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
}

func missing(t *testing.T, path string) {
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestCheckRefuses(t *testing.T) {
	w := newWorld(t, 1)
	dir := w.make(1, checked)
	root := t.TempDir()
	w.must(os.Mkdir(filepath.Join(root, lostfound.Name), 0o700))
	for path, says := range map[string]string{
		filepath.Join(w.dir, "nowhere"): "no such file",
		filepath.Join(dir, "log.db"):    "is a file and no data directory",
		t.TempDir():                     "is empty: it holds no store",
		root:                            "is empty: it holds no store",
		w.dir:                           "holds no store",
	} {
		if _, err := Check(path); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
	s, err := storage.Open(dir, small)
	w.must(err)
	defer s.Close()
	if _, err := Check(dir); !errors.Is(err, storage.ErrInUse) || !errors.Is(err, ErrRefused) {
		t.Errorf("a node that runs: %v", err)
	}
}

func TestInspectShowsLogAndState(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := w.make(2, log{state: 2, chosen: 4,
		entries: []string{"a=1", "b=" + strings.Repeat("x", 100), "c=3", "-", "d=5"}})
	show := func(i Inspection) string {
		t.Helper()
		var out bytes.Buffer
		_, err := Inspect(dir, i, &out)
		w.must(err)
		return out.String()
	}
	for _, c := range []struct {
		i       Inspection
		has     []string
		without []string
	}{
		{Inspection{Log: true, To: math.MaxUint64},
			[]string{"slot 3", `set "c" = "3"`, "slot 4", "barrier", `set "d" = "5"`},
			[]string{"skipped", "slot 2 "}},
		{Inspection{Log: true, From: 4, To: 4}, []string{"slot 4"}, []string{"slot 3", "slot 5"}},
		{Inspection{State: true}, []string{`data "a" = "1"`, `data "b" = "xxxx`, "… (100 bytes)"},
			[]string{"skipped", `"c"`}},
		{Inspection{State: true, Prefix: "b", Space: "data", Values: true}, []string{strings.Repeat("x", 100)},
			[]string{`"a"`}},
		{Inspection{State: true, JSON: true, Space: "data"}, []string{`"kind":"record"`, `"key":"a"`},
			[]string{"data \""}},
	} {
		out := show(c.i)
		for _, text := range c.has {
			if !strings.Contains(out, text) {
				t.Errorf("%+v lacks %q:\n%s", c.i, text, out)
			}
		}
		for _, text := range c.without {
			if strings.Contains(out, text) {
				t.Errorf("%+v has %q:\n%s", c.i, text, out)
			}
		}
	}
	if _, err := Inspect(dir, Inspection{State: true, Space: "nothing"}, &bytes.Buffer{}); !errors.Is(err, ErrRefused) {
		t.Errorf("no space of that name: %v", err)
	}
	if _, err := Inspect(dir, Inspection{Log: true, From: 2, To: 1}, &bytes.Buffer{}); !errors.Is(err, ErrRefused) {
		t.Errorf("no slot: %v", err)
	}
}

// Programs read values in base64, and commands as objects.
func TestInspectForPrograms(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := w.make(2, log{state: 1, chosen: 2, entries: []string{"a=1", "b=" + strings.Repeat("\x00x", 50)}})
	for _, values := range []bool{false, true} {
		var out bytes.Buffer
		_, err := Inspect(dir, Inspection{Log: true, To: math.MaxUint64, State: true, Space: "data", JSON: true,
			Values: values}, &out)
		w.must(err)
		var got []string
		for text := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
			type value struct {
				Base64    []byte
				Bytes     int
				Shortened bool
			}
			var l struct {
				Key      string
				Value    value
				Commands []struct {
					Op, Key string
					Value   value
				}
			}
			w.must(json.Unmarshal([]byte(text), &l))
			for _, c := range l.Commands {
				got = append(got, fmt.Sprintf("%s %s %q %d %v", c.Op, c.Key, c.Value.Base64, c.Value.Bytes, c.Value.Shortened))
			}
			if l.Key != "" {
				got = append(got, fmt.Sprintf("%s %q", l.Key, l.Value.Base64))
			}
		}
		shown := 40
		if values {
			shown = 100
		}
		want := []string{fmt.Sprintf("set b %q 100 %v", strings.Repeat("\x00x", 50)[:shown], !values), `a "1"`}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q\n%s", got, want, &out)
		}
	}
}

// Every space of this release has a name, as every command has.
func TestInspectNamesEverything(t *testing.T) {
	for n := range 256 {
		if s := kv.RecordKind(n); s.Known() != (spaces[s] != "") {
			t.Errorf("space %d is called %q", n, spaces[s])
		}
	}
	p := &inspector{}
	c := p.describe(&kv.Command{Op: kv.OpTransaction, Parts: []kv.Part{{Op: kv.OpSet, Key: "k", HasIndex: true, Index: 7,
		Lock: kv.LockAcquire, Session: kv.Session{ID: "s"}}}})
	if text := c.text(); text != "transaction\n        set \"k\" = \"\" if its index is 7 acquire session \"s\"" {
		t.Errorf("%q", text)
	}
}

// No node starts on a copy, nor on a directory whose state differs, whatever else is in it.
func TestCheckOfWhatNoNodeStartsOn(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	dir := w.make(2, checked)
	clone := filepath.Join(t.TempDir(), "copy")
	w.must(os.CopyFS(clone, os.DirFS(dir)))
	r, err := Check(clone)
	if err != nil || !r.Sound || !r.Copy || !strings.Contains(r.Do, "no node starts on a copy") || len(r.Notes) != 1 {
		t.Errorf("a copy: %+v %v", r, err)
	}
	if s, err := storage.Open(clone, small); !errors.Is(err, storage.ErrCopied) {
		s.Close()
		t.Errorf("a copy opens: %v", err)
	}
	w.must(os.WriteFile(filepath.Join(clone, "accept-copy"), nil, 0o600))
	if r, err = Check(clone); err != nil || r.Copy || !strings.Contains(r.Do, "start the node") {
		t.Errorf("a copy that is accepted: %+v %v", r, err)
	}
	s, err := storage.Open(dir, small)
	w.must(err)
	w.must(s.MarkDiffers("at slot 4"))
	w.must(s.Close())
	r, err = Check(dir)
	if err != nil || r.Sound || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Problem, "at slot 4") ||
		!strings.Contains(r.Do, "kvnode rejoin") {
		t.Errorf("a state that differs: %+v %v", r, err)
	}
	for _, n := range r.Notes {
		t.Errorf("note: %s", n)
	}
}

// Inspect shows the readable parts of a damaged file, and says that others are unreadable.
func TestInspectReadsDamagedFiles(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	l := log{state: 1, entries: []string{"a=1"}}
	for range 60 {
		l.entries = append(l.entries, "k="+strings.Repeat("v", 400))
	}
	l.chosen = len(l.entries)
	dir := w.make(2, l)
	path := filepath.Join(dir, "log.db")
	b, err := os.ReadFile(path)
	w.must(err)
	at := bytes.LastIndex(b, bytes.Repeat([]byte("v"), 400))
	b[at] ^= 1
	w.must(os.WriteFile(path, b, 0o600))
	var out bytes.Buffer
	_, err = Inspect(dir, Inspection{Log: true, To: math.MaxUint64, JSON: true}, &out)
	w.must(err)
	kinds := map[string]int{}
	for text := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		var l line
		w.must(json.Unmarshal([]byte(text), &l))
		kinds[l.Kind]++
		if l.Kind == "skipped" && !slices.Contains([]string{"log.db", "journal"}, l.Where) {
			t.Errorf("skipped in %q: %s", l.Where, l.Problem)
		}
	}
	if kinds["entry"] < 50 || kinds["skipped"] == 0 {
		t.Errorf("%v", kinds)
	}
}

// A directory in which a restore was interrupted is no node's, until it is complete.
func TestFinished(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  string // "": finished
	}{
		{nil, ""}, {[]string{"lost+found/"}, ""}, {[]string{"log.db", "state.db"}, ""}, {[]string{"log.db", unfinished}, ""},
		{[]string{unfinished}, "run it again with --data "}, {[]string{unfinished, "state.db"}, "remove everything in it"},
		{[]string{unfinished, "lost+found/"}, "run it again with --data "},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			var err error
			if path := filepath.Join(dir, name); strings.HasSuffix(name, "/") {
				err = os.Mkdir(path, 0o700)
			} else {
				err = os.WriteFile(path, nil, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		err := Finished(dir)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.files, err, c.want)
		}
	}
	if err := Finished(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("no directory: %v", err)
	}
}

// TestCheckOpensTheState: a directory of sound files is not sound if the state machine refuses what they say. One of a
// newer release is not damaged, and needs that release.
func TestCheckOpensTheState(t *testing.T) {
	type level struct {
		Format, Slot, Revision, Floor, First, Next           uint64
		SessionsIndex, LeaseFloor, KVFloor, TombstoneFloor   uint64
		Sessions, Held, Expiring, Delays, Fences, Tombstones uint64
		Eras, Members, Level                                 uint64
		Release                                              string
	}
	for name, c := range map[string]struct {
		meta  level
		sound bool
		do    string
	}{
		"revisions that fell":  {level{Format: 1, Slot: 2, Revision: 3, Floor: 9}, false, "kvnode rejoin"},
		"sessions are missing": {level{Format: 1, Slot: 2, Revision: 3, Sessions: 1}, false, "kvnode rejoin"},
		"an era of no token":   {level{Format: 1, Slot: 2, Revision: 3, Eras: 1 << 32}, false, "kvnode rejoin"},
		"a newer release": {level{Format: 1, Slot: 2, Revision: 3, Level: kv.NewestLevel + 1, Release: "v9"}, true,
			`release "v9"`},
	} {
		w := newWorld(t, 1, 2, 3)
		dir := w.make(2, checked)
		s, err := storage.Open(dir, small)
		w.must(err)
		w.must(s.Checkpoint(&kv.Checkpoint{Slot: 2, Meta: codec.Marshal(&c.meta)}))
		w.must(s.Close())
		r, err := Check(dir)
		if err != nil || r.Sound != c.sound || !strings.Contains(r.Do, c.do) || len(r.Problems) > 0 == c.sound {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		if !c.sound && (r.Problems[0].File != "state.db" || !strings.Contains(r.Problems[0].Problem, "slot 2")) {
			t.Errorf("%s: %+v", name, r.Problems)
		}
	}
}
