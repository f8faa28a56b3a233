package run

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
	"tenure/jepsen/nemesis"
	"tenure/jepsen/workload"
)

// The verdicts. Only Held is a success.
const (
	Held      = "held"
	Violation = "violation"  // clients saw what a single copy of the data cannot show
	Undecided = "undecided"  // the checker ran out of time
	Misbehave = "misbehaved" // a node did not end, recover or agree as it must
	Weak      = "weak"       // nothing wrong, but too little happened for a test
)

// Result is the result of a run.
type Result struct {
	Workload  string        `json:"workload"`
	Nemesis   string        `json:"nemesis"`
	Nodes     int           `json:"nodes"`
	Clients   int           `json:"clients"`
	Time      time.Duration `json:"time_ns"`
	Seed      uint64        `json:"seed"`
	Sabotage  string        `json:"sabotage,omitempty"`
	Sabotaged int           `json:"sabotaged,omitempty"` // operations that the cluster was made to lie about
	Where     string        `json:"where"`
	Date      time.Time     `json:"date"`
	Command   string        `json:"command"`

	OK        int            `json:"ok"`
	Writes    int            `json:"writes"` // of these, writes that were done
	Failed    int            `json:"failed"`
	Unknown   int            `json:"unknown"`
	Checked   int            `json:"checked"` // operations that the checker took into account
	Keys      int            `json:"keys"`
	Undecided int            `json:"undecided"`
	Shown     int            `json:"shown,omitempty"`  // of what the workload is there to show
	Counts    map[string]int `json:"counts,omitempty"` // of what the workload has to have done, by name
	Faults    int            `json:"faults"`           // seen to take effect
	Unseen    int            `json:"unseen"`           // made, but nothing showed it
	Masters   int            `json:"masters"`
	Changes   int            `json:"changes,omitempty"` // of the members, seen to take effect
	P50       time.Duration  `json:"p50_ns"`
	P99       time.Duration  `json:"p99_ns"`
	Gap       time.Duration  `json:"gap_ns"` // longest time in which no operation succeeded

	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
}

// Line returns the result in one line.
func (r Result) Line() string {
	verdict := strings.ToUpper(r.Verdict)
	if r.Shown > 0 {
		verdict += fmt.Sprintf(", and showed %d late writes", r.Shown)
	}
	if r.Changes > 0 {
		verdict += fmt.Sprintf(", %d changes of members", r.Changes)
	}
	verdict += r.counted()
	return strings.TrimSpace(fmt.Sprintf("%-11s %-18s %d nodes %2d clients: %6d ok %4d failed %4d unknown, %6d "+
		"checked in %4d keys, %2d faults seen, %2d changes of master, p50 %s p99 %s gap %s: %s %s",
		r.Workload, r.Nemesis, r.Nodes, r.Clients, r.OK, r.Failed, r.Unknown, r.Checked, r.Keys, r.Faults, r.Masters,
		short(r.P50), short(r.P99), short(r.Gap), verdict, r.Reason))
}

// counted is Counts in words.
func (r Result) counted() (text string) {
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		text += fmt.Sprintf(", %d %s", r.Counts[name], name)
	}
	return text
}

func short(d time.Duration) string { return fmt.Sprintf("%.1fms", d.Seconds()*1000) }

// Err returns nil if the run held.
func (r Result) Err() error {
	if r.Verdict == Held {
		return nil
	}
	return errors.New(r.Verdict + ": " + r.Reason)
}

// record has all that is known about a run.
type record struct {
	cfg       Config
	workload  workload.Workload
	nemesis   nemesis.Nemesis
	where     string
	ops       []history.Op
	faults    []history.Fault
	watched   *watcher
	end       time.Duration
	trouble   error
	sabotaged int
	found     check.Result
}

// evaluate checks the history and the minimums.
func (s *record) evaluate() Result {
	r := Result{Workload: s.cfg.Workload, Nemesis: s.cfg.Nemesis, Nodes: s.cfg.Nodes, Clients: s.cfg.Clients,
		Time: s.cfg.Time,
		Seed: s.cfg.Seed, Sabotage: s.cfg.Sabotage, Sabotaged: s.sabotaged, Where: s.where,
		Date:    time.Now().UTC().Truncate(time.Second),
		Command: s.command(), Masters: s.watched.masters()}
	tokens, others := history.OfTokens(s.ops)
	for _, op := range others {
		switch op.Outcome {
		case history.OK:
			r.OK++
			if op.Done() {
				r.Writes++
			}
		case history.Fail:
			r.Failed++
		default:
			r.Unknown++
		}
	}
	for _, f := range s.faults {
		if f.Seen == "" {
			r.Unseen++
		} else {
			r.Faults++
			if nemesis.IsChange(f.Name) {
				r.Changes++
			}
		}
	}
	r.P50, r.P99, r.Gap = latencies(others, s.cfg.Time)
	s.found = s.workload.Check(others)
	if s.nemesis.ACL {
		s.found.Add(check.Tokens(tokens))
		s.found.Add(check.Denied(others))
	}
	r.Checked, r.Keys, r.Undecided = s.found.Checked, s.found.Keys, s.found.Undecided
	r.Shown, r.Counts = s.found.Shown, s.found.Counts
	r.Verdict, r.Reason = s.verdict(r)
	return r
}

func (s *record) verdict(r Result) (string, string) {
	for _, p := range s.found.Problems {
		if p.Kind != "undecided" {
			reason := fmt.Sprintf("%s: %s", p.Kind, p.Reason)
			if s.trouble != nil { // what was done last may not have been read again, which looks like a loss
				reason += fmt.Sprintf("; the run was broken off: %v", s.trouble)
			}
			return Violation, reason
		}
	}
	switch {
	case s.trouble != nil:
		return Misbehave, s.trouble.Error()
	case r.Undecided > 0:
		return Undecided, fmt.Sprintf("%d of %d keys", r.Undecided, r.Keys)
	}
	if short := s.minimums(r); len(short) > 0 {
		return Weak, "the run tested nothing: " + strings.Join(short, ", ")
	}
	return Held, ""
}

// writeShare: of so many operations that a nemesis asks for, at least one must be a write.
const writeShare = 10

// minimums returns what the run lacks to be a test.
func (s *record) minimums(r Result) (short []string) {
	seconds := s.cfg.Time.Seconds()
	least := func(what string, got int, want float64) {
		if float64(got) < want {
			short = append(short, fmt.Sprintf("%d %s, at least %.0f are needed", got, what, math.Ceil(want)))
		}
	}
	least("operations succeeded", r.OK, s.nemesis.MinOps*seconds)
	least("writes were done", r.Writes, s.nemesis.MinOps*seconds/writeShare)
	least("operations were checked", r.Checked, s.nemesis.MinOps*seconds)
	least("faults were seen", r.Faults, s.nemesis.MinFaults*seconds/10)
	for _, l := range s.workload.Least {
		least(l.What, s.found.Counts[l.What], s.nemesis.MinOps*seconds/float64(l.Of))
	}
	if s.nemesis.ACL {
		least(check.WrittenBefore, s.found.Counts[check.WrittenBefore], seconds)
		least(check.RefusedAfter, s.found.Counts[check.RefusedAfter], seconds)
	}
	if what := s.workload.Shows; what != "" {
		least(what, s.found.Shown, 1)
	}
	least("changes of members took effect", r.Changes, s.nemesis.MinChanges*seconds/10)
	least("changes of master", r.Masters, s.nemesis.MinMasters*seconds/10)
	return short
}

// latencies returns those of successful operations, and the longest time without one until the faults end.
func latencies(ops []history.Op, until time.Duration) (p50, p99, gap time.Duration) {
	var all, ends []time.Duration
	for _, op := range ops {
		if op.Outcome == history.OK {
			ends = append(ends, op.Return)
			if op.Kind != history.Stream && op.Mode != "waiting" {
				all = append(all, op.Return-op.Call)
			}
		}
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	slices.Sort(all)
	slices.Sort(ends)
	last := time.Duration(0)
	for _, e := range append(ends, until) {
		if e = min(e, until); e > last {
			gap, last = max(gap, e-last), e
		}
	}
	return all[len(all)/2], all[len(all)*99/100], gap
}

// command returns a command with the same choices. Real processes do not repeat exactly.
func (s *record) command() string {
	c := s.cfg
	text := fmt.Sprintf("go run ./jepsen run --workload %s --nemesis %s --nodes %d --time %v --clients %d --seed %d",
		c.Workload, c.Nemesis, c.Nodes, c.Time, c.Clients, c.Seed)
	if c.Sabotage != "" {
		text += " --sabotage " + c.Sabotage
	}
	if c.DefaultReads {
		text += " --default-reads"
	}
	for _, f := range c.Flags {
		text += " --node-flag=" + f
	}
	if c.Loopback && os.Geteuid() == 0 {
		text += " --loopback"
	}
	return text
}
