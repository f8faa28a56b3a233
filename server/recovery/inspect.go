package recovery

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// Inspection selects what Inspect shows of a data directory.
type Inspection struct {
	Log           bool // the entries of the log from slot From to slot To
	From, To      uint64
	State         bool   // the records of the state database
	Prefix, Space string // only records of keys with this prefix, in this space; "" selects all
	Values        bool   // whole values instead of their first bytes
	JSON          bool   // one JSON object per line
}

// line is one line of the output. Fields that do not apply are omitted.
type line struct {
	Kind     string   `json:"kind"` // entry, record, skipped
	Slot     uint64   `json:"slot,omitempty"`
	Ballot   string   `json:"ballot,omitempty"`
	Where    string   `json:"where,omitempty"` // the file: log.db or journal for an entry
	Content  string   `json:"content,omitempty"`
	Commands []string `json:"commands,omitempty"`
	Space    string   `json:"space,omitempty"`
	Key      string   `json:"key,omitempty"`
	Bytes    int      `json:"bytes,omitempty"` // length of the value
	Value    string   `json:"value,omitempty"`
	Revision uint64   `json:"revision,omitempty"` // of the last change of the key
	Flags    uint64   `json:"flags,omitempty"`
	Session  string   `json:"session,omitempty"` // the session that holds the key's lock
	Problem  string   `json:"problem,omitempty"`
}

// spaces has the names of the spaces of a state database.
var spaces = map[kv.Space]string{
	kv.SpaceData: "data", kv.SpaceDedup: "dedup", kv.SpaceSession: "session", kv.SpaceHeld: "held",
	kv.SpaceExpiry: "expiry",
	kv.SpaceDelay:  "delay", kv.SpaceFence: "fence", kv.SpaceTombstone: "tombstone", kv.SpaceMembers: "members",
}

// spaceName returns the name of a space, or its number if this release does not know it.
func spaceName(s kv.Space) string { return or(spaces[s], strconv.Itoa(int(s))) }

// parseSpace returns the number of the space with that name or number, or -1 for "".
func parseSpace(name string) (int, error) {
	if name == "" {
		return -1, nil
	}
	for s, n := range spaces {
		if n == name {
			return int(s), nil
		}
	}
	if n, err := strconv.ParseUint(name, 10, 8); err == nil {
		return int(n), nil
	}
	return 0, refuse("there is no space %q in a state database; there are data, dedup, session, held, expiry, delay, "+
		"fence, tombstone and members, and those of other releases by number", name)
}

// inspector writes lines until a write fails.
type inspector struct {
	Inspection
	w       io.Writer
	json    *json.Encoder
	skipped int
	err     error
}

// Inspect writes the entries of the log and the records of the state database of a stopped node to w, one per line. The
// files may be damaged: what cannot be read is skipped, with a line that says so. Inspect changes nothing, and holds
// one page and one value in memory.
func Inspect(dir string, i Inspection, w io.Writer) error {
	space, err := parseSpace(i.Space)
	if err != nil {
		return err
	}
	if i.From > i.To {
		return refuse("from slot %d to %d there is none", i.From, i.To)
	}
	x, err := examine(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	p := &inspector{Inspection: i, w: w, json: json.NewEncoder(w)}
	p.json.SetEscapeHTML(false)
	if i.Log {
		x.Entries(multipaxos.Slot(i.From), multipaxos.Slot(i.To), p.entry, p.skip)
	}
	if i.State {
		x.Records(space, []byte(i.Prefix), p.record, p.skip)
	}
	return p.err
}

func (p *inspector) entry(e multipaxos.Entry, inJournal bool) bool {
	l := line{Kind: "entry", Slot: uint64(e.Slot), Ballot: e.Ballot.String(), Where: "log.db", Bytes: len(e.Value)}
	if inJournal {
		l.Where = "journal"
	}
	batch, record, err := replica.Content(e)
	switch {
	case err != nil:
		l.Content, l.Problem = "unreadable", err.Error()
	case record != nil:
		l.Content = "members"
	case len(batch) == 0:
		l.Content = "barrier"
	default:
		l.Content = "commands"
		err := kv.DecodeBatch(batch, func(b []byte) bool {
			l.Commands = append(l.Commands, p.command(b))
			return true
		})
		if err != nil {
			l.Problem = err.Error()
		}
	}
	return p.show(&l)
}

// command describes an encoded command.
func (p *inspector) command(b []byte) string {
	c, err := kv.DecodeCommand(b)
	if err != nil {
		return err.Error()
	}
	text := opName(c.Op)
	if c.Key != "" {
		text += fmt.Sprintf(" %q", c.Key)
	}
	if c.NewKey != "" {
		text += fmt.Sprintf(" to %q", c.NewKey)
	}
	if c.Value != nil {
		text += " = " + p.shorten(c.Value)
	}
	if c.Session.ID != "" {
		text += " session " + c.Session.ID
	}
	if c.Fence != "" {
		text += fmt.Sprintf(" fence %s token %d", c.Fence, c.Token)
	}
	if len(c.Parts) > 0 {
		text += fmt.Sprintf(" of %d parts", len(c.Parts))
	}
	return text
}

var opNames = map[kv.Op]string{
	kv.OpSet: "set", kv.OpDelete: "delete", kv.OpPrune: "delete prefix", kv.OpAdd: "add",
	kv.OpTestAndSet: "test and set",
	kv.OpRename:     "rename", kv.OpRemove: "remove", kv.OpExpire: "expire", kv.OpTransaction: "transaction",
	kv.OpSessionCreate: "create session", kv.OpSessionDestroy: "destroy session", kv.OpSessionRenew: "renew session",
	kv.OpDropFence: "drop fence", kv.OpEndSession: "end session", kv.OpEndKey: "end key",
	kv.OpEndDelay: "end lock-delay",
	kv.OpNewEra:   "new era",
}

func opName(op kv.Op) string { return or(opNames[op], fmt.Sprintf("op %d", op)) }

// maxShown is the number of bytes of a value that are shown without Inspection.Values.
const maxShown = 40

func (p *inspector) shorten(value []byte) string {
	if p.Values || len(value) <= maxShown {
		return strconv.Quote(string(value))
	}
	return fmt.Sprintf("%q… (%d bytes)", value[:maxShown], len(value))
}

func (p *inspector) record(space kv.Space, key, value []byte) bool {
	l := line{Kind: "record", Space: spaceName(space), Key: string(key)}
	if space == kv.SpaceData {
		e, err := kv.ReadEntry(key, value)
		if err != nil {
			l.Problem = err.Error()
		} else {
			value, l.Revision, l.Flags, l.Session = e.Value, e.ModifyIndex, e.Flags, e.Session
		}
	}
	l.Bytes, l.Value = len(value), p.shorten(value)
	return p.show(&l)
}

func (p *inspector) skip(file string, err error) {
	p.skipped++
	p.show(&line{Kind: "skipped", Where: file, Problem: err.Error()})
}

// show writes a line and reports whether it succeeded.
func (p *inspector) show(l *line) bool {
	switch {
	case p.err != nil:
	case p.JSON:
		p.err = p.json.Encode(l)
	default:
		_, p.err = fmt.Fprintln(p.w, l.text())
	}
	return p.err == nil
}

// text returns l as text for people.
func (l *line) text() string {
	var text string
	switch l.Kind {
	case "entry":
		text = fmt.Sprintf("slot %d  %s  ballot %s  %s", l.Slot, l.Where, l.Ballot, l.Content)
		for _, c := range l.Commands {
			text += "\n    " + c
		}
	case "record":
		text = fmt.Sprintf("%s %q = %s", l.Space, l.Key, l.Value)
		if l.Revision > 0 {
			text += fmt.Sprintf("  revision %d", l.Revision)
		}
		if l.Flags > 0 {
			text += fmt.Sprintf("  flags %d", l.Flags)
		}
		if l.Session != "" {
			text += "  locked by " + l.Session
		}
	default:
		return fmt.Sprintf("skipped, in %s: %s", l.Where, l.Problem)
	}
	if l.Problem != "" {
		text += "  " + l.Problem
	}
	return text
}
