package recovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/ownfile"
	"tenure/internal/shown"
	"tenure/kv"
	"tenure/server/members"
	"tenure/storage"
)

// Report is what Check finds in the data directory of a stopped node.
type Report struct {
	Dir   string `json:"dir"`
	Sound bool   `json:"sound"`
	// Problems has the first problem of each damaged file. Do says what to do about them.
	Problems []FileProblem `json:"problems"`
	Do       string        `json:"do"`
	Copy     bool          `json:"copy"`            // of another directory: no node starts on it, even if it is sound
	Notes    []string      `json:"notes,omitempty"` // findings that do not keep a node from starting
	Files    []File        `json:"files"`
	Identity *Owner        `json:"identity"` // null if it cannot be read
	Log      *Log          `json:"log"`      // null if log.db is damaged
	Journal  *Journal      `json:"journal"`  // null if the journal is damaged or was not read
	State    *State        `json:"state"`    // null if the state database is damaged
}

// FileProblem is what is wrong with one file.
type FileProblem struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
}

// File is one file of the directory. What describes its purpose, or is "" if no node reads the file.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	What  string `json:"what"`
}

// Owner is the node to which the directory belongs.
type Owner struct {
	Node    ballot.NodeID `json:"node"` // 0 if it is not bound to a node yet
	Name    string        `json:"name"`
	Store   string        `json:"store"`
	Cluster string        `json:"cluster"` // "" if it has not joined one yet
	Restart uint64        `json:"restart"` // number of runs so far
	// Membership is the number of the newest membership that the directory knows, and Members is its members.
	Membership uint64   `json:"membership"`
	Members    []Member `json:"members"`
}

// Member is a member of the cluster, as the directory knows it.
type Member struct {
	Node   ballot.NodeID `json:"node"`
	Name   string        `json:"name"`
	Peer   string        `json:"peer"`
	Client string        `json:"client"`
}

// Log describes log.db. Its entries are complete: their digest was recomputed and is right.
type Log struct {
	Promised  string `json:"promised"`
	Chosen    uint64 `json:"chosen"`    // every slot through it is known to be chosen
	Truncated uint64 `json:"truncated"` // entries through it are gone
	First     uint64 `json:"first"`     // 0 if there are no entries
	Last      uint64 `json:"last"`
	Entries   uint64 `json:"entries"`
	Digest    string `json:"digest"`
}

// Journal describes the commits that are in the journal and not yet in log.db.
type Journal struct {
	Records  int    `json:"records"`
	CutOff   bool   `json:"cut_off"`  // an incomplete commit follows them, which was never acknowledged
	Promised string `json:"promised"` // with these records
	Chosen   uint64 `json:"chosen"`   // likewise
	Last     uint64 `json:"last"`     // likewise
}

// State describes the state database. Its records are complete: their digest was recomputed and is right.
type State struct {
	Slot       uint64 `json:"slot"` // of the newest complete checkpoint
	Unfinished uint64 `json:"unfinished,omitempty"`
	Records    uint64 `json:"records"`
	Digest     string `json:"digest"`
}

// Check reads everything in the data directory of a stopped node, and changes nothing. Its error wraps ErrRefused if
// there is no such directory, or a node runs on it.
func Check(dir string) (Report, error) {
	x, err := examine(dir)
	if err != nil {
		return Report{}, err
	}
	defer x.Close()
	r := Report{Dir: dir, Sound: len(x.Problems) == 0, Problems: []FileProblem{}, Notes: x.Notes}
	for _, p := range x.Problems {
		r.Problems = append(r.Problems, FileProblem{p.File, p.Text})
	}
	for _, f := range x.Files {
		r.Files = append(r.Files, File(f))
	}
	r.Identity = ownerOf(x)
	if x.Copied != "" {
		r.Copy, r.Notes = true, append(r.Notes, x.Copied)
	}
	if l := x.Log; l != nil {
		r.Log = &Log{Promised: l.Promised.String(), Chosen: uint64(l.Chosen), Truncated: uint64(l.Truncated),
			First: uint64(l.First), Last: uint64(l.Last), Entries: l.Entries, Digest: fmt.Sprintf("%016x", l.Digest)}
	}
	if j := x.Journal; j != nil {
		r.Journal = &Journal{Records: j.Records, CutOff: j.CutOff, Promised: j.Durable.Promised.String(),
			Chosen: uint64(j.Durable.Chosen), Last: uint64(j.Durable.Last)}
	}
	if s := x.State; s != nil {
		r.State = &State{Slot: uint64(s.Slot), Unfinished: uint64(s.Unfinished), Records: s.Records,
			Digest: fmt.Sprintf("%016x", s.Digest)}
	}
	err = opens(x)
	if err != nil && !errors.Is(err, kv.ErrNewer) {
		r.Sound = false
		r.Problems = append(r.Problems, FileProblem{"state.db", err.Error()})
	}
	r.Do = r.advice()
	if errors.Is(err, kv.ErrNewer) {
		r.Do = err.Error()
	}
	if err := Finished(dir); err != nil {
		r.Sound, r.Do = false, err.Error()
		r.Problems = append(r.Problems, FileProblem{unfinished, "a restore or a recovery was interrupted"})
	}
	return r, nil
}

// examine is storage.Examine, whose errors about an unusable directory become refusals.
func examine(dir string) (*storage.Examination, error) {
	x, err := storage.Examine(dir)
	if errors.Is(err, storage.ErrUnusable) || errors.Is(err, storage.ErrInUse) {
		return nil, notExamined{err}
	}
	return x, err
}

// notExamined is a refusal to read a directory, with the text of the wrapped error.
type notExamined struct{ error }

// Unwrap returns ErrRefused and the error of package storage.
func (e notExamined) Unwrap() []error { return []error{ErrRefused, e.error} }

func ownerOf(x *storage.Examination) *Owner {
	if x.Identity == nil {
		return nil
	}
	id := x.Identity
	w := &Owner{Node: id.Node, Store: id.Store.String(), Membership: id.Membership.Number, Members: []Member{}}
	if id.Formed {
		w.Cluster = id.Cluster.String()
	}
	if x.Start != nil {
		w.Restart = x.Start.Restart
	}
	w.Name = members.NameOf(ident.Member{Node: id.Node})
	for _, m := range id.Membership.Members {
		if m.Node == id.Node {
			w.Name = members.NameOf(m)
		}
		w.Members = append(w.Members, Member{Node: m.Node, Name: members.NameOf(m), Peer: m.PeerAddr,
			Client: m.ClientAddr})
	}
	return w
}

// advice returns the text of Do.
func (r *Report) advice() string {
	if r.Sound && r.Copy {
		return "nothing is wrong with the files, but they are a copy, and no node starts on a copy, since it may " +
			"lack what the original has promised since: start the node on the original; the note says what to do if " +
			"that is no more"
	}
	if r.Sound {
		return "nothing is wrong: start the node as before"
	}
	if r.Identity != nil && len(r.Identity.Members) == 1 && r.onlySums() {
		return "state.db reads whole, so that either a checksum or a page in which nothing is missing has changed: " +
			"the node was alone in its cluster, so nobody else has its data: look at the disk, keep a copy of the " +
			"directory, and make a new cluster of a backup (kvnode restore FILE --data NEW-DIRECTORY); if there is " +
			"none that is new enough, move state.sums out of the directory and start the node: it reads all of " +
			"state.db and makes the checksums anew"
	}
	if r.Identity != nil && len(r.Identity.Members) == 1 {
		return "the node was alone in its cluster, so nobody else has its data: look at the disk, keep a copy of the " +
			"directory, and make a new cluster of a backup (kvnode restore FILE --data NEW-DIRECTORY)"
	}
	join, name := "HOST:PORT", ""
	if r.Identity == nil {
		name = " --node-name NAME"
	} else {
		for _, m := range r.Identity.Members {
			if m.Node != r.Identity.Node && m.Peer != "" {
				join = m.Peer
				break
			}
		}
	}
	return fmt.Sprintf("do not start the node on it; look at the disk, then rebuild the node from the other members: "+
		"%skvnode rejoin --data %s --join %s%s, with the node's own flags or --config as before", ownfile.AsOwner(r.Dir),
		shown.Word(r.Dir), join, name)
}

// onlySums reports whether nothing but the checksums of the state database's pages is wrong.
func (r *Report) onlySums() bool {
	for _, p := range r.Problems {
		if p.File != "state.sums" {
			return false
		}
	}
	return true
}

// WriteRefusal writes as JSON that dir was not read, and why: Check returned err.
func WriteRefusal(w io.Writer, dir string, err error) error {
	return writeJSON(w, struct {
		Dir     string `json:"dir"`
		InUse   bool   `json:"in_use"`
		Refused string `json:"refused"`
	}{dir, errors.Is(err, storage.ErrInUse), err.Error()})
}

// WriteJSON writes r as indented JSON.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// writeJSON writes v as indented JSON.
func writeJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = w.Write(append(shown.JSON(text), '\n'))
	}
	return err
}

// Write writes r as text for people.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(shown.Writer(w), 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) } // Flush returns the first error
	verdict := "sound"
	if !r.Sound {
		verdict = "DAMAGED"
	}
	line("%s: %s", r.Dir, verdict)
	for _, p := range r.Problems {
		line("%s: %s", p.File, p.Problem)
	}
	line("\n%s", r.Do)
	for _, n := range r.Notes {
		line("note: %s", n)
	}
	line("")
	if i := r.Identity; i != nil {
		line("node\t%d, %s, store %s, started %d times", i.Node, i.Name, i.Store, i.Restart)
		line("cluster\t%s", cmp.Or(i.Cluster, "none yet"))
		var names []string
		for _, m := range i.Members {
			names = append(names, strings.TrimSpace(m.Name+" "+m.Peer))
		}
		line("members\t%s (list %d)", strings.Join(names, ", "), i.Membership)
	}
	if l := r.Log; l != nil {
		line("log.db\t%d entries, slots %d to %d, chosen through %d, promised %s; digest %s is right", l.Entries,
			l.First, l.Last, l.Chosen, l.Promised, l.Digest)
	}
	if j := r.Journal; j != nil {
		line("journal\t%d commits that log.db lacks, through slot %d, chosen through %d, promised %s", j.Records,
			j.Last, j.Chosen, j.Promised)
	}
	if s := r.State; s != nil {
		line("state.db\tcheckpoint at slot %d, %d records; digest %s is right", s.Slot, s.Records, s.Digest)
	}
	line("\nFILE\tBYTES\tWHAT")
	for _, f := range r.Files {
		line("%s\t%d\t%s", f.Name, f.Bytes, cmp.Or(f.What, "-"))
	}
	return t.Flush()
}
