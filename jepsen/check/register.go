// Package check decides whether a history could have come from one copy of the data.
package check

import (
	"fmt"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/jepsen/history"
)

// MaxOpsPerKey bounds what is asked of the checker at once: its work can grow exponentially with the operations whose
// outcome is unknown.
const MaxOpsPerKey = 200

// register is the state of one key: what the last write left there. A write whose outcome the client never learned
// leaves an index that nobody knows until somebody reads it.
type register struct {
	present bool
	value   string
	index   uint64 // 0: absent, or present with an index that is not known
}

// Model is a key as a linearizable register with compare-and-set by index. The caller partitions by key.
var Model = porcupine.Model{
	Init:              func() any { return register{} },
	Step:              func(state, input, _ any) (bool, any) { return step(state.(register), input.(history.Op)) },
	DescribeOperation: func(input, _ any) string { return Describe(input.(history.Op)) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

func step(s register, op history.Op) (bool, register) {
	switch op.Kind {
	case history.Get:
		return read(s, op)
	case history.Put:
		return true, register{present: true, value: op.Value, index: op.Result}
	case history.Delete:
		return true, register{}
	case history.CAS:
		return compareAndSet(s, op)
	case history.Swap:
		return swap(s, op)
	}
	return false, s
}

func read(s register, op history.Op) (bool, register) {
	if op.Absent || !s.present {
		return op.Absent && !s.present, s
	}
	if op.Value != s.value || (s.index != 0 && op.Index != 0 && op.Index != s.index) {
		return false, s
	}
	if op.Index != 0 { // the Redis protocol does not tell it
		s.index = op.Index
	}
	return true, s
}

// swap is a write that compares the value. With an unknown outcome it may be done late: that is the order in which the
// checker puts it.
func swap(s register, op history.Op) (bool, register) {
	holds := s.present == (op.From != "") && (!s.present || s.value == op.From)
	switch {
	case !holds:
		return op.Outcome == history.Info || !op.Matched, s
	case op.Outcome == history.Info || op.Matched:
		return true, register{present: true, value: op.Value}
	}
	return false, s
}

// compareAndSet allows what a store may have done: with an unknown outcome both, with a known one only that.
func compareAndSet(s register, op history.Op) (bool, register) {
	may := !s.present && op.Index == 0 || s.present && op.Index != 0 && (s.index == 0 || s.index == op.Index)
	must := may && (!s.present || s.index != 0)
	next := register{present: true, value: op.Value, index: op.Result}
	switch {
	case op.Outcome == history.Info:
		if may {
			return true, next
		}
		return true, s
	case op.Matched:
		return may, next
	default:
		return !must, s
	}
}

// Verdict is the result for one key.
type Verdict struct {
	Key    string
	Ops    int
	Result porcupine.CheckResult
	Info   porcupine.LinearizationInfo
}

// Registers checks every key of ops apart, each for at most timeout, and returns one verdict a key, by key. A verdict
// of Unknown (the time ran out) is not a pass.
func Registers(ops []history.Op, timeout time.Duration) []Verdict {
	byKey := map[string][]porcupine.Operation{}
	for _, op := range ops {
		if op.Outcome == history.Fail || (op.Outcome == history.Info && op.Kind == history.Get) {
			continue
		}
		byKey[op.Key] = append(byKey[op.Key], porcupine.Operation{
			ClientId: op.Client, Input: op, Call: int64(op.Call), Output: op, Return: int64(op.Return)})
	}
	keys := make([]string, 0, len(byKey))
	for k := range byKey {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := make([]Verdict, 0, len(keys))
	for _, k := range keys {
		result, info := porcupine.CheckOperationsVerbose(Model, byKey[k], timeout)
		out = append(out, Verdict{Key: k, Ops: len(byKey[k]), Result: result, Info: info})
	}
	return out
}

// Describe returns op in one line, for people.
func Describe(op history.Op) string {
	switch op.Kind {
	case history.Get:
		if op.Absent {
			return fmt.Sprintf("get → absent (%s)", op.Mode)
		}
		return fmt.Sprintf("get → %q @%d (%s)", op.Value, op.Index, op.Mode)
	case history.CAS:
		return fmt.Sprintf("cas @%d := %q → %v %s", op.Index, op.Value, op.Matched, op.Outcome)
	case history.Swap:
		return fmt.Sprintf("swap %q := %q → %v %s", op.From, op.Value, op.Matched, op.Outcome)
	}
	return fmt.Sprintf("%s %q → @%d %s", op.Kind, op.Value, op.Result, op.Outcome)
}
