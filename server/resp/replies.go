package resp

import (
	"slices"

	"tenure/kv"
	"tenure/server/resp/proto"
)

// refused replies the refusal of the first step that has one, and reports whether there was one.
func refused(w *proto.Writer, results []result) bool {
	for _, r := range results {
		text, ok := refusalText(r)
		if !ok {
			continue
		}
		if slices.ContainsFunc(results, func(r result) bool { return r.err == nil && r.code == kv.CodeDone }) {
			text = "ERR done in part, and not for all keys: " + text
		}
		w.Error(text)
		return true
	}
	return false
}

// replyOK replies OK.
func replyOK(w *proto.Writer, _ *op, results []result) {
	if !refused(w, results) {
		w.OK()
	}
}

// replySet replies OK, or nothing if the condition did not hold.
func replySet(w *proto.Writer, _ *op, results []result) {
	switch {
	case refused(w, results):
	case results[0].code == kv.CodeCondition:
		w.Null()
	default:
		w.OK()
	}
}

// replyWritten replies 1, or 0 if the condition did not hold.
func replyWritten(w *proto.Writer, _ *op, results []result) {
	switch {
	case refused(w, results):
	case results[0].code == kv.CodeDone:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// replyValue replies the value that is or was there.
func replyValue(w *proto.Writer, _ *op, results []result) {
	switch {
	case refused(w, results):
	case results[0].count == 0:
		w.Null()
	default:
		w.Text(results[0].body)
	}
}

// replyLength replies how long a value is.
func replyLength(w *proto.Writer, _ *op, results []result) {
	if !refused(w, results) {
		w.Int(max(int64(results[0].count), 1) - 1)
	}
}

// replyNumber replies the number that a value has become.
func replyNumber(w *proto.Writer, _ *op, results []result) {
	if refused(w, results) {
		return
	}
	n, ok := integer([]byte(results[0].body))
	if !ok {
		w.Error(errNotInteger)
		return
	}
	w.Int(n)
}

// replyRange replies a part of a value, from and to being those of GETRANGE.
func replyRange(w *proto.Writer, o *op, results []result) {
	if refused(w, results) {
		return
	}
	text, from, to := results[0].body, o.from, o.to
	if from < 0 && to < 0 && from > to {
		w.Text("")
		return
	}
	if from < 0 {
		from = max(from+len(text), 0)
	}
	if to < 0 {
		to = max(to+len(text), 0)
	}
	to = min(to, len(text)-1)
	if from > to {
		w.Text("")
		return
	}
	w.Text(text[from : to+1])
}

// replyCount replies the sum of what the steps count.
func replyCount(w *proto.Writer, _ *op, results []result) {
	if refused(w, results) {
		return
	}
	var n int64
	for _, r := range results {
		if r.code == kv.CodeDone && r.count > 0 {
			n++
		}
	}
	w.Int(n)
}
