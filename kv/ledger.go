package kv

import (
	"fmt"
	"math"
)

// ledger is the revision of the state, whether the command that runs has moved it, and what the observer will be told
// of the command.
type ledger struct {
	revision uint64
	stamped  bool // the command has its revision
	notes    notes
}

// stamp returns the revision of what the command changes: the next one at its first change. Revisions never fall: it
// panics when there is none left.
func (l *ledger) stamp() uint64 {
	if !l.stamped {
		if l.revision == math.MaxUint64 {
			panic("kv: there is no revision left")
		}
		l.stamped = true
		l.revision++
	}
	return l.revision
}

// unchanged is the result of a command that changes nothing.
func (l *ledger) unchanged(c Code) Result { return Result{Code: c, Revision: l.revision} }

// because is a refusal that says why, for people.
func (l *ledger) because(code Code, format string, args ...any) Result {
	r := l.unchanged(code)
	r.Body = fmt.Sprintf(format, args...)
	return r
}
