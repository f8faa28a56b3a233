package history

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// Fault is something that was done to the cluster, with the time when it was seen to have taken effect and ended.
type Fault struct {
	Name  string        `json:"name"`
	Nodes []int         `json:"nodes"`
	From  time.Duration `json:"from_ns"`
	To    time.Duration `json:"to_ns"`
	Seen  string        `json:"seen"` // what showed that it took effect; "" if nothing did
}

// WriteEDN writes the history as Jepsen does: one map a line, an :invoke and its completion for each operation, in the
// order of time. A process whose operation ended as :info is not used again, so each such client goes on as a new one.
func WriteEDN(w io.Writer, ops []Op, faults []Fault) error {
	events := ednEvents(ops)
	for _, f := range faults {
		start := fmt.Sprintf(":process :nemesis, :type :info, :f :%s, :value %s", f.Name, ednInts(f.Nodes))
		stop := fmt.Sprintf(":process :nemesis, :type :info, :f :%s-end, :value %s", f.Name, ednString(f.Seen))
		events = append(events, ednEvent{f.From, 0, start}, ednEvent{f.To, 1, stop})
	}
	sort.SliceStable(events, func(i, j int) bool {
		if events[i].at != events[j].at {
			return events[i].at < events[j].at
		}
		return events[i].phase < events[j].phase // what begins as another ends is concurrent with it
	})
	b := bufio.NewWriter(w)
	for i, e := range events {
		fmt.Fprintf(b, "{%s, :time %d, :index %d}\n", e.text, int64(e.at), i)
	}
	return b.Flush()
}

type ednEvent struct {
	at    time.Duration
	phase int
	text  string
}

func ednEvents(ops []Op) []ednEvent {
	ops = append([]Op(nil), ops...)
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].Call < ops[j].Call })
	clients := 0
	for i := range ops {
		clients = max(clients, ops[i].Client+1)
	}
	process := make([]int, clients)
	for i := range process {
		process[i] = i
	}
	last := time.Duration(0)
	for i := range ops {
		last = max(last, ops[i].Call)
		if ops[i].Return != Forever {
			last = max(last, ops[i].Return)
		}
	}
	events := make([]ednEvent, 0, 2*len(ops))
	for _, op := range ops {
		p := process[op.Client]
		head := fmt.Sprintf(":process %d, :type ", p)
		events = append(events, ednEvent{op.Call, 0, head + ":invoke, :f :" + string(op.Kind) + ", :value " + ednInvoked(op)})
		at := op.Return
		if op.Outcome == Info {
			at = last
			process[op.Client] += clients
		}
		text := head + ":" + string(op.Outcome) + ", :f :" + string(op.Kind) + ", :value " + ednCompleted(op)
		if op.Error != "" {
			text += ", :error " + ednString(op.Error)
		}
		events = append(events, ednEvent{at, 1, text})
	}
	return events
}

func ednInvoked(op Op) string {
	switch op.Kind {
	case Txn:
		return ednParts(op)
	case Stream:
		return fmt.Sprintf("[%s %d nil]", ednString(op.Key), op.Index)
	case Create, Renew, Destroy, SessionInfo:
		return ednString(op.Session)
	case Acquire, Release:
		return fmt.Sprintf("[%s %s %s]", ednString(op.Key), ednString(op.Session), ednString(op.Value))
	case LeaseAcquire, LeaseRenew, LeaseRelease:
		return fmt.Sprintf("[%s %s]", ednString(op.Key), ednString(op.Acquisition))
	case Get, List, Delete, Prune:
		return fmt.Sprintf("[%s nil]", ednString(op.Key))
	case CAS:
		return fmt.Sprintf("[%s [%d %s]]", ednString(op.Key), op.Index, ednString(op.Value))
	case Swap:
		return fmt.Sprintf("[%s [%s %s]]", ednString(op.Key), ednString(op.From), ednString(op.Value))
	}
	return fmt.Sprintf("[%s %s]", ednString(op.Key), ednString(op.Value))
}

func ednCompleted(op Op) string {
	if op.Outcome != OK {
		return ednInvoked(op)
	}
	switch op.Kind {
	case Get:
		if op.Absent {
			return fmt.Sprintf("[%s nil]", ednString(op.Key))
		}
		return fmt.Sprintf("[%s %s], :revision %d", ednString(op.Key), ednString(op.Value), op.Index)
	case CAS:
		return fmt.Sprintf("%s, :matched %v, :revision %d", ednInvoked(op), op.Matched, op.Result)
	case Swap:
		return fmt.Sprintf("%s, :matched %v", ednInvoked(op), op.Matched)
	case Append:
		return fmt.Sprintf("%s, :size %d", ednInvoked(op), op.Size)
	case List:
		return fmt.Sprintf("[%s [%s]], :revision %d", ednString(op.Key), ednEntries(op), op.Index)
	case Stream:
		return fmt.Sprintf("[%s %d [%s]], :revision %d, :gap %d", ednString(op.Key), op.Index, ednEntries(op),
			op.Result, op.Gap)
	case Txn:
		return fmt.Sprintf("%s, :entries [%s], :matched %v, :revision %d", ednParts(op), ednEntries(op), op.Matched,
			op.Result)
	case LeaseAcquire, LeaseRenew:
		return fmt.Sprintf("%s, :matched %v, :absent %v, :token %d", ednInvoked(op), op.Matched, op.Absent, op.Token)
	case Acquire, Release, Renew, SessionInfo:
		return fmt.Sprintf("%s, :matched %v, :absent %v, :revision %d", ednInvoked(op), op.Matched, op.Absent, op.Result)
	}
	return fmt.Sprintf("%s, :revision %d", ednInvoked(op), op.Result)
}

func ednEntries(op Op) string {
	var b strings.Builder
	for i, e := range op.Entries {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "[%s %s %d]", ednString(e.Key), ednString(e.Value), e.Modify)
	}
	return b.String()
}

func ednParts(op Op) string {
	var b strings.Builder
	for i, p := range op.Parts {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "[:%s %s %s %d]", p.Verb, ednString(p.Key), ednString(p.Value), p.Index)
	}
	return "[" + b.String() + "]"
}

var ednEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`)

func ednString(s string) string { return `"` + ednEscapes.Replace(s) + `"` }

func ednInts(list []int) string { return strings.ReplaceAll(fmt.Sprint(list), ",", " ") }
