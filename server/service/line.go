package service

import (
	"errors"
	"strconv"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
)

// Line is what the audit log will say of a request, or of one of several commands in it. Names are noted before
// anything is decided, as the store sees them, however the client spelt them. The zero Line notes nothing.
type Line struct {
	on       bool
	names    audit.Names
	fence    string // under which something is written
	revision uint64
	outcome  audit.Outcome // "": that of code
	code     api.Code      // why it was not done
	missing  string        // permission
}

// NewLine returns a line that takes notes.
func NewLine() Line { return Line{on: true} }

// Owed reports whether there will be a line.
func (l *Line) Owed() bool { return l.on }

// Omit takes the request out of the audit log: it changes nothing, whatever it looked like.
func (l *Line) Omit() { l.on = false }

// About notes the names of the request's objects.
func (l *Line) About(names ...string) {
	if l.on {
		l.names.Add(names...)
	}
}

// AboutCommand notes what c changes, and reports whether it changes anything.
func (l *Line) AboutCommand(c *kv.Command) (acts bool) {
	if !l.on {
		return false
	}
	if c.Fence != "" && c.Op != kv.OpDropFence {
		l.fence = c.Fence + ":" + strconv.FormatUint(c.Token, 10)
	}
	c.EachWritten(func(key string, _ bool) bool { // empty, of a prune: every key
		l.names.Add(key)
		return true
	})
	if _, name := c.Beside(); name != "" {
		l.names.Add(name)
	}
	if c.Op == kv.OpDropFence { // other commands are only done under one
		l.names.Add(c.Fence)
	}
	for i := range c.Parts {
		acts = acts || !c.Parts[i].Op.OnlyReads()
	}
	return acts || len(c.Parts) == 0 && !c.Op.OnlyReads()
}

// Under notes the fence under which something is written.
func (l *Line) Under(fence string) { l.fence = fence }

// At notes the revision of the store after the act.
func (l *Line) At(revision uint64) { l.revision = revision }

// Failed notes why the act was not done.
func (l *Line) Failed(code api.Code) { l.code = code }

// DoneBut notes that a part of the act was done, and why the rest was not; "" if there is no rest.
func (l *Line) DoneBut(code api.Code) { l.outcome, l.code = audit.Done, code }

// Unknown notes that the answer was cut off: the client does not know what came of the act.
func (l *Line) Unknown() { l.outcome = audit.Unknown }

// cameTo notes the result of a command.
func (l *Line) cameTo(res *kv.Result) {
	l.revision = res.Revision
	if res.Code == kv.CodeCondition {
		l.code = api.CodeCondition
	}
}

// partsCameTo notes what the parts of an act came to that are carried out each by itself: it was done if one of them
// was.
func (l *Line) partsCameTo(errs []error) {
	done, first := false, error(nil)
	for _, err := range errs {
		done = done || err == nil
		if first == nil && err != nil {
			first = err
		}
	}
	switch {
	case first == nil:
	case done:
		l.Lacks(first)
		l.DoneBut(CodeInLine(first))
	default:
		l.FailedBy(first)
	}
}

// Lacks notes the permission that is missing, if err is about one.
func (l *Line) Lacks(err error) {
	var denied *access.DeniedError
	if l.on && l.missing == "" && errors.As(err, &denied) {
		l.missing = denied.Missing.String()
	}
}

// FailedBy notes that the act ended with err.
func (l *Line) FailedBy(err error) {
	l.Lacks(err)
	l.code = CodeInLine(err)
}

// CodeInLine returns the code of err in the audit log. No code means there that the act was done, so an error without
// one has api.CodeInternal.
func CodeInLine(err error) api.Code {
	if code, ok := CodeOf(err); ok {
		return code
	}
	return api.CodeInternal
}

func (l *Line) put(r *audit.Record) {
	r.Fence, r.Code, r.Missing = l.fence, string(l.code), l.missing
	if r.Outcome = l.outcome; r.Outcome == "" {
		r.Outcome = OutcomeOf(l.code)
	}
	r.Revision = l.revision
	l.names.Put(r)
}
