package sim

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
)

// checkTimeout bounds the search for a linearization of one key. A run whose search needs longer has failed, since
// nobody knows whether it is sound; but it shows no violation.
const checkTimeout = 20 * time.Second

// linearizable checks the history of the clients, key by key.
func (g *engine) linearizable(ops []history.Op, timeout time.Duration) *Failure {
	byKey := map[string][]porcupine.Operation{}
	var keys []string
	for _, op := range ops {
		if op.Outcome == history.Fail || (op.Outcome == history.Info && op.Kind == history.Get) {
			continue
		}
		if byKey[op.Key] == nil {
			keys = append(keys, op.Key)
		}
		byKey[op.Key] = append(byKey[op.Key], porcupine.Operation{ClientId: op.Client, Input: op, Call: int64(op.Call),
			Output: op,
			Return: int64(op.Return)})
	}
	for _, k := range keys {
		verdict := porcupine.CheckOperationsTimeout(check.Model, byKey[k], timeout)
		f := &Failure{Check: "linearizability", Step: g.steps, At: g.now - startTime}
		switch verdict {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			f.Check = "undecided"
			f.Detail = fmt.Sprintf("key %q: undecided within %v, not a violation: the checker needs more time for this "+
				"history, or the machine was stopped or busy meanwhile; run the seed again", k, timeout)
		default:
			f.Detail = fmt.Sprintf("key %q has no linearization\n%s", k, story(ops, k))
		}
		return f
	}
	return nil
}

// story returns the history of one key, for people.
func story(all []history.Op, key string) string {
	var ops []history.Op
	for _, op := range all {
		if op.Key == key && op.Outcome != history.Fail {
			ops = append(ops, op)
		}
	}
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].Call < ops[j].Call })
	var b strings.Builder
	for _, op := range ops {
		end := "…"
		if op.Return != history.Forever {
			end = fmt.Sprintf("%.6f", (op.Return - startTime).Seconds())
		}
		op.Value = strings.TrimRight(op.Value, "\x00")
		fmt.Fprintf(&b, "  %10.6f – %-10s client %-4d %s\n", (op.Call - startTime).Seconds(), end, op.Client,
			check.Describe(op))
	}
	return b.String()
}
