package recovery

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tenure/internal/shown"
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
	Kind     string    `json:"kind"` // entry, record, skipped
	Slot     uint64    `json:"slot,omitempty"`
	Ballot   string    `json:"ballot,omitempty"`
	Where    string    `json:"where,omitempty"`   // the file: log.db or journal for an entry
	Content  string    `json:"content,omitempty"` // of an entry: commands, members, barrier, unreadable
	Commands []command `json:"commands,omitempty"`
	Space    string    `json:"space,omitempty"`
	Key      string    `json:"key,omitempty"`
	Number   *uint64   `json:"number,omitempty"` // the key, in the spaces whose keys are numbers
	Bytes    int       `json:"bytes,omitempty"`  // length of the entry
	Value    *content  `json:"value,omitempty"`
	Revision uint64    `json:"revision,omitempty"` // of the last change of the key
	Flags    uint64    `json:"flags,omitempty"`
	Session  string    `json:"session,omitempty"` // the session that holds the key's lock
	Limits   *limits   `json:"limits,omitempty"`  // of a quota
	Policy   *policy   `json:"policy,omitempty"`
	ACLToken *token    `json:"acl_token,omitempty"`
	Problem  string    `json:"problem,omitempty"`
}

// spaces has the names of the spaces of a state database.
var spaces = map[kv.RecordKind]string{
	kv.KindData: "data", kv.KindDedup: "dedup", kv.KindSession: "session", kv.KindHeld: "held",
	kv.KindExpiry: "expiry", kv.KindDelay: "delay", kv.KindFence: "fence", kv.KindTombstone: "tombstone",
	kv.KindMembers: "members", kv.KindQuota: "quota", kv.KindStaged: "staged",
	kv.KindPolicy: "policy", kv.KindToken: "token",
}

// SpaceNames lists the names of the spaces, in the order of their numbers.
func SpaceNames() string {
	var names []string
	for _, s := range slices.Sorted(maps.Keys(spaces)) {
		names = append(names, spaces[s])
	}
	return strings.Join(names, ", ")
}

// spaceName returns the name of a space, or its number if this release does not know it.
func spaceName(s kv.RecordKind) string { return cmp.Or(spaces[s], strconv.Itoa(int(s))) }

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
	return 0, refuse("there is no space %q in a state database; there are %s, and those of other releases by number", name,
		SpaceNames())
}

// inspector writes lines until a write fails.
type inspector struct {
	Inspection
	w     io.Writer
	json  *json.Encoder
	buf   bytes.Buffer
	lines int
	err   error
}

// Inspect writes the entries of the log and the records of the state database of a stopped node to w, one per line. The
// files may be damaged: what cannot be read is skipped, with a line that says so. Inspect changes nothing, and holds
// one page and one value in memory. It returns how many lines it has written.
func Inspect(dir string, i Inspection, w io.Writer) (lines int, err error) {
	space, err := parseSpace(i.Space)
	if err != nil {
		return 0, err
	}
	if i.From > i.To {
		return 0, refuse("from slot %d to %d there is none", i.From, i.To)
	}
	x, err := examine(dir)
	if err != nil {
		return 0, err
	}
	defer x.Close()
	p := &inspector{Inspection: i, w: w}
	p.json = json.NewEncoder(&p.buf)
	p.json.SetEscapeHTML(false)
	if i.Log {
		x.Entries(multipaxos.Slot(i.From), multipaxos.Slot(i.To), p.entry, p.skip)
	}
	if i.State {
		x.Records(space, []byte(i.Prefix), p.record, p.skip)
	}
	return p.lines, p.err
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
			l.Commands = append(l.Commands, p.decode(b))
			return true
		})
		if err != nil {
			l.Problem = err.Error()
		}
	}
	return p.show(&l)
}

func (p *inspector) record(space kv.RecordKind, key, value []byte) bool {
	l := line{Kind: "record", Space: spaceName(space), Key: string(key)}
	if (space == kv.KindDedup || space == kv.KindStaged) && len(key) == 8 {
		n := binary.BigEndian.Uint64(key)
		l.Key, l.Number = "", &n
	}
	if space == kv.KindData {
		e, err := kv.ReadEntry(key, value)
		if err != nil {
			l.Problem = err.Error()
		} else {
			value, l.Revision, l.Flags, l.Session = e.Value, e.ModifyIndex, e.Flags, e.Session
		}
	}
	if !p.register(space, key, value, &l) {
		l.Value = p.content(value)
	}
	return p.show(&l)
}

// register describes a record of a quota, a policy or a token. It returns false for other records, and for one that
// cannot be read.
func (p *inspector) register(space kv.RecordKind, key, value []byte, l *line) bool {
	var err error
	switch space {
	case kv.KindQuota:
		var q kv.Quota
		if q, err = kv.ReadQuota(key, value); err == nil {
			l.Limits = &limits{q.Bytes, q.Keys}
		}
	case kv.KindPolicy:
		var x *kv.Policy
		if x, err = kv.ReadPolicy(key, value); err == nil {
			l.Policy, l.Revision = p.policyOf(x), x.ModifyIndex
		}
	case kv.KindToken:
		var x *kv.Token
		if x, err = kv.ReadToken(key, value); err == nil {
			l.ACLToken, l.Revision = tokenOf(x), x.ModifyIndex
		}
	default:
		return false
	}
	if err != nil {
		l.Problem = err.Error()
	}
	return err == nil
}

func (p *inspector) skip(file string, err error) {
	p.show(&line{Kind: "skipped", Where: file, Problem: err.Error()})
}

// show writes a line and reports whether it succeeded.
func (p *inspector) show(l *line) bool {
	p.lines++
	switch {
	case p.err != nil:
	case p.JSON:
		p.buf.Reset()
		_ = p.json.Encode(l) // strings and numbers can always be encoded
		_, p.err = p.w.Write(shown.JSON(p.buf.Bytes()))
	default:
		_, p.err = fmt.Fprintln(p.w, shown.Text(l.text()))
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
			text += "\n    " + c.text()
		}
	case "record":
		text = fmt.Sprintf("%s %q = %s%s%s%s", l.Space, l.Key, l.Value.text(), l.Limits.text(), l.Policy.text(),
			l.ACLToken.text())
		if l.Number != nil {
			text = fmt.Sprintf("%s %d = %s", l.Space, *l.Number, l.Value.text())
		}
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
