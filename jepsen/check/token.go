package check

import (
	"fmt"
	"strings"

	"tenure/jepsen/history"
)

// What Tokens counts.
const (
	WrittenBefore = "writes under tokens before they ended"
	RefusedAfter  = "writes refused after the end of their token"
)

// Tokens checks writes under tokens that end: each key is written once, below its token's own prefix. A write that
// begins after the end was acknowledged must be refused, by every node, and never show. By the revisions, no write
// shows that was applied after the deletion, whenever it began. A write acknowledged before the end must be there at
// the end of the run, and a refused one must not.
func Tokens(ops []history.Op) Result {
	r := Result{Counts: map[string]int{}}
	names, by := groups(ops, tokenOf)
	for _, n := range names {
		r.Keys++
		r.token(by[n])
	}
	return r
}

// Denied finds operations that were refused for want of a permission, among those of clients whose token always
// allows them.
func Denied(ops []history.Op) (r Result) {
	for _, op := range ops {
		if op.Denied {
			r.add("denied", fmt.Sprintf("%s of %s was denied, and the token allows it", op.Kind, op.Key), op)
		}
	}
	return r
}

// tokenOf returns the prefix of the keys of the token that op is about.
func tokenOf(op history.Op) string {
	rest := strings.TrimPrefix(op.Key, history.RevokedPrefix)
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func (r *Result) token(ops []history.Op) {
	var end, last *history.Op
	for i := range ops {
		switch op := &ops[i]; {
		case op.Outcome != history.OK:
		case op.Kind == history.Revoke:
			end = op
		case op.Kind == history.List && (last == nil || op.Call > last.Call):
			last = op
		}
	}
	seen := map[string]history.Entry{}
	if last != nil {
		for _, e := range last.Entries {
			seen[e.Key] = e
		}
	}
	for _, op := range ops {
		if op.Kind == history.Put {
			e, shown := seen[op.Key]
			r.underToken(op, end, last, e, shown)
		}
	}
}

// underToken checks one write: end is that of its token, and last the list of what it wrote; nil if there was none.
func (r *Result) underToken(op history.Op, end, last *history.Op, e history.Entry, shown bool) {
	r.Checked++
	show := []history.Op{op}
	if end != nil {
		show = append(show, *end)
	}
	after := end != nil && op.Call > end.Return
	switch {
	case after && op.Outcome == history.OK:
		r.add("write under an ended token", fmt.Sprintf("%s was acknowledged, and began after its token had ended", op.Key),
			show...)
	case after && op.Outcome == history.Fail:
		r.Counts[RefusedAfter]++
	case op.Outcome == history.OK:
		r.Counts[WrittenBefore]++
	}
	if last == nil {
		return
	}
	show = append(show, *last)
	switch {
	case shown && after:
		r.add("seen write of an ended token", fmt.Sprintf("%s shows, and began after its token had ended", op.Key), show...)
	case shown && end != nil && end.Result != 0 && e.Modify > end.Result:
		r.add("applied after the deletion", fmt.Sprintf("%s shows at revision %d: its token was deleted at %d", op.Key,
			e.Modify, end.Result), show...)
	case shown && op.Outcome == history.Fail:
		r.add("seen write that was refused", fmt.Sprintf("%s shows, and was refused", op.Key), show...)
	case !shown && op.Outcome == history.OK && op.Return < last.Call:
		r.add("lost write", fmt.Sprintf("%s does not show, and was acknowledged", op.Key), show...)
	}
}
