package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/storage"
)

// Report is what Check finds in the data directory of a node that does not run.
type Report struct {
	Dir   string `json:"dir"`
	Sound bool   `json:"sound"`
	// Problems are what is wrong, the first thing of each file; Do says what to do about them.
	Problems []FileProblem `json:"problems"`
	Do       string        `json:"do"`
	Notes    []string      `json:"notes,omitempty"` // what no node minds
	Files    []File        `json:"files"`
	Identity *Whose        `json:"identity"` // null: it cannot be read
	Log      *LogOf        `json:"log"`      // null: log.db is damaged
	Journal  *JournalOf    `json:"journal"`  // null: the journal is damaged, or was not read
	State    *StateOf      `json:"state"`    // null: the state database is damaged
}

// FileProblem is what is wrong with one file.
type FileProblem struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
}

// File is one file of the directory. What it is for is "" if no node reads it.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	What  string `json:"what"`
}

// Whose says whose directory it is.
type Whose struct {
	Node    ballot.NodeID `json:"node"` // 0: it was not bound to one yet
	Name    string        `json:"name"`
	Store   string        `json:"store"`
	Cluster string        `json:"cluster"` // "": it is in none yet
	Restart uint64        `json:"restart"` // runs so far
	// Membership is the number of the newest list of members that it knows, and Members is that list.
	Membership uint64     `json:"membership"`
	Members    []MemberOf `json:"members"`
}

// MemberOf is a member of the cluster, as the directory knows it.
type MemberOf struct {
	Node   ballot.NodeID `json:"node"`
	Name   string        `json:"name"`
	Peer   string        `json:"peer"`
	Client string        `json:"client"`
}

// LogOf is log.db. Its entries are those that it must have: their digest was computed anew.
type LogOf struct {
	Promised  string `json:"promised"`
	Chosen    uint64 `json:"chosen"`    // every slot through it is known to be chosen
	Truncated uint64 `json:"truncated"` // entries through it are gone
	First     uint64 `json:"first"`     // 0: there is no entry
	Last      uint64 `json:"last"`
	Entries   uint64 `json:"entries"`
	Digest    string `json:"digest"`
}

// JournalOf is what the journal has and log.db lacks.
type JournalOf struct {
	Records int    `json:"records"`
	CutOff  bool   `json:"cut_off"` // a commit behind them was never whole
	Chosen  uint64 `json:"chosen"`  // with them
	Last    uint64 `json:"last"`
}

// StateOf is the state database. Its records are those that it must have: their digest was computed anew.
type StateOf struct {
	Slot       uint64 `json:"slot"` // of the newest whole checkpoint
	Unfinished uint64 `json:"unfinished,omitempty"`
	Records    uint64 `json:"records"`
	Digest     string `json:"digest"`
}

// Check reads everything in the data directory of a node that does not run, and changes nothing. An error wraps
// ErrRefused if there is no such directory, or a node runs on it.
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
	r.Identity = whose(x)
	if l := x.Log; l != nil {
		r.Log = &LogOf{Promised: l.Promised.String(), Chosen: uint64(l.Chosen), Truncated: uint64(l.Truncated),
			First: uint64(l.First), Last: uint64(l.Last), Entries: l.Entries, Digest: fmt.Sprintf("%016x", l.Digest)}
	}
	if j := x.Journal; j != nil {
		r.Journal = &JournalOf{Records: j.Records, CutOff: j.CutOff, Chosen: uint64(j.Durable.Chosen),
			Last: uint64(j.Durable.Last)}
	}
	if s := x.State; s != nil {
		r.State = &StateOf{Slot: uint64(s.Slot), Unfinished: uint64(s.Unfinished), Records: s.Records,
			Digest: fmt.Sprintf("%016x", s.Digest)}
	}
	r.Do = r.advice()
	return r, nil
}

// examine is storage.Examine with errors that are refusals.
func examine(dir string) (*storage.Examination, error) {
	x, err := storage.Examine(dir)
	if errors.Is(err, storage.ErrUnusable) || errors.Is(err, storage.ErrInUse) {
		return nil, notExamined{err}
	}
	return x, err
}

// notExamined is a refusal to read a directory, in the words of err.
type notExamined struct{ error }

// Unwrap returns what it is.
func (e notExamined) Unwrap() []error { return []error{ErrRefused, e.error} }

func whose(x *storage.Examination) *Whose {
	if x.Identity == nil {
		return nil
	}
	id := x.Identity
	w := &Whose{Node: id.Node, Store: id.Store.String(), Membership: id.Membership.Number, Members: []MemberOf{}}
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
		w.Members = append(w.Members, MemberOf{Node: m.Node, Name: members.NameOf(m), Peer: m.PeerAddr,
			Client: m.ClientAddr})
	}
	return w
}

// advice says what to do.
func (r *Report) advice() string {
	if r.Sound {
		return "nothing is wrong: start the node as before"
	}
	if r.Identity != nil && len(r.Identity.Members) == 1 && r.onlySums() {
		return "state.db reads whole, so that either a checksum or a page in which nothing is missing has changed: the " +
			"node was alone in its cluster, so nobody else has its data: look at the disk, keep a copy of the directory, " +
			"and make a new cluster of a backup (kvnode restore FILE --data NEW-DIRECTORY); if there is none that is new " +
			"enough, move state.sums out of the directory and start the node: it reads all of state.db and makes the " +
			"checksums anew"
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
		"kvnode rejoin --data %s --join %s%s, with the node's own flags (--peer, --client) as before", r.Dir, join, name)
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

// WriteJSON writes r as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Write writes r for people.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) } // t keeps the first error for Flush
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
		line("cluster\t%s", or(i.Cluster, "none yet"))
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
		line("journal\t%d commits that log.db lacks, through slot %d, chosen through %d", j.Records, j.Last, j.Chosen)
	}
	if s := r.State; s != nil {
		line("state.db\tcheckpoint at slot %d, %d records; digest %s is right", s.Slot, s.Records, s.Digest)
	}
	line("\nFILE\tBYTES\tWHAT")
	for _, f := range r.Files {
		line("%s\t%d\t%s", f.Name, f.Bytes, or(f.What, "-"))
	}
	return t.Flush()
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
