package kv

import "slices"

// Changed is what a command did to one key or session, as watchers see it. A key that a transaction changes several
// times comes once, as it is afterwards.
type Changed struct {
	Revision uint64
	Key      string
	Entry    *Entry // nil: deleted; never changed by anybody
	Expired  bool   // it was deleted because its TTL has passed
	Session  string // ID of a session that was created or ended; Key and Entry are empty then
	Last     bool   // no further Changed has this Revision
}

// Observer is told the changes of Apply, in order, while Apply runs: it must be quick and must not call the State. It
// is told the changes of a command once the command has succeeded. Each function may be nil.
type Observer struct {
	Changed func(Changed)
	Timed   func(Timed)
	ACL     func(revision uint64) // tokens and policies have changed; this is their revision
}

// Observe sets the observer's functions to those of o; a nil one leaves the function before in place. It counts as a
// write to s.
func (s *State) Observe(o Observer) {
	to := &s.exec.notes.observer
	if o.Changed != nil {
		to.Changed = o.Changed
	}
	if o.Timed != nil {
		to.Timed = o.Timed
	}
	if o.ACL != nil {
		to.ACL = o.ACL
	}
}

// notes is what the observer will be told when the command has succeeded.
type notes struct {
	observer Observer
	changed  []Changed
	repeats  bool // a key may be among changed several times
	timed    []Timed
	aclAt    uint64 // revision of a change of tokens or policies; 0: none
}

// key notes that key changed, with nil that it was deleted.
func (n *notes) key(revision uint64, key string, e *Entry) {
	if n.observer.Changed != nil {
		n.changed = append(n.changed, Changed{Revision: revision, Key: key, Entry: e})
		n.repeats = n.repeats || e == nil // that it was there before in this command is not seen from what comes next
	}
}

// replaced notes what an entry of a revision replaces: it may be of the same command.
func (n *notes) replaced(old *Entry, revision uint64) {
	n.repeats = n.repeats || old.ModifyIndex == revision
}

// expired notes that the key which was noted last is gone because its time has passed.
func (n *notes) expired() {
	if last := len(n.changed) - 1; last >= 0 {
		n.changed[last].Expired = true
	}
}

// session notes that a session was created or ended.
func (n *notes) session(revision uint64, id string) {
	if n.observer.Changed != nil {
		n.changed = append(n.changed, Changed{Revision: revision, Session: id})
	}
}

// time notes that a time runs or has ended; the zero Timed is none.
func (n *notes) time(t Timed) {
	if n.observer.Timed != nil && t.Kind != 0 {
		n.timed = append(n.timed, t)
	}
}

// acl notes that tokens or policies have changed.
func (n *notes) acl(revision uint64) { n.aclAt = revision }

// notesMark is a place in notes: what was noted behind it can be forgotten.
type notesMark struct {
	changed, timed int
	repeats        bool
	aclAt          uint64
}

func (n *notes) mark() notesMark { return notesMark{len(n.changed), len(n.timed), n.repeats, n.aclAt} }

// backTo forgets the notes behind m: their command or part came to nothing.
func (n *notes) backTo(m notesMark) {
	clear(n.changed[m.changed:])
	clear(n.timed[m.timed:])
	n.changed, n.timed, n.repeats, n.aclAt = n.changed[:m.changed], n.timed[:m.timed], m.repeats, m.aclAt
}

// tell passes on what was noted for one command.
func (n *notes) tell() {
	n.settle()
	n.repeats = false
	if last := len(n.changed) - 1; last >= 0 {
		n.changed[last].Last = true
		for i := range n.changed {
			n.observer.Changed(n.changed[i])
		}
		n.changed = reuse(n.changed)
	}
	if len(n.timed) > 0 {
		for _, t := range n.timed {
			n.observer.Timed(t)
		}
		n.timed = reuse(n.timed)
	}
	if n.aclAt != 0 {
		if n.observer.ACL != nil {
			n.observer.ACL(n.aclAt)
		}
		n.aclAt = 0
	}
}

// reuse empties list for the next command, unless it has become large.
func reuse[T any](list []T) []T {
	if cap(list) > keepNotes {
		return nil
	}
	clear(list)
	return list[:0]
}

const keepNotes = 256

// settle leaves of each key that a command changed several times only the last change: nobody ever sees the others.
func (n *notes) settle() {
	if len(n.changed) < 2 || !n.repeats {
		return
	}
	seen := make(map[string]bool, len(n.changed))
	kept := len(n.changed)
	for i := len(n.changed) - 1; i >= 0; i-- {
		if c := n.changed[i]; !seen[c.Key] {
			seen[c.Key] = true
			kept--
			n.changed[kept] = c
		}
	}
	n.changed = slices.Delete(n.changed, 0, kept)
}
