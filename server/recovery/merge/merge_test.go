package merge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/multipaxos"
)

// log is a survivor's log: "4:a2 5:b3" is value a in slot 4 under ballot 2, and so on. A page holds two entries.
type log []multipaxos.Entry

func (l log) Entries(from, through multipaxos.Slot, _ int) (out []multipaxos.Entry, err error) {
	for _, e := range l {
		if e.Slot >= from && e.Slot <= through && len(out) < 2 {
			out = append(out, e)
		}
	}
	return out, nil
}

func bal(n int) ballot.Ballot { return ballot.Ballot{Counter: uint64(n), Restart: 1, Node: 1} }

// survivor is a node whose state database is at a slot, and which knows that the log is chosen through another.
func survivor(node ballot.NodeID, state, chosen multipaxos.Slot, text string) Survivor {
	s := Survivor{Name: fmt.Sprint("node ", node), Node: node, State: state}
	s.Durable = multipaxos.Durable{Truncated: state, Chosen: chosen, Last: max(state, chosen)}
	var l log
	for _, part := range strings.Fields(text) {
		var e multipaxos.Entry
		var b int
		slot, value, _ := strings.Cut(part, ":")
		if _, err := fmt.Sscan(slot, (*uint64)(&e.Slot)); err != nil {
			panic(err)
		}
		if _, err := fmt.Sscan(value[1:], &b); err != nil {
			panic(err)
		}
		e.Value, e.Ballot = []byte(value[:1]), bal(b)
		l = append(l, e)
		s.Durable.Last = max(s.Durable.Last, e.Slot)
	}
	s.Log = l
	return s
}

// members: X is the entry that makes {1 2 3} of whatever was, Y {3 4 5}.
func members(value []byte) (quorum.Set, bool) {
	switch string(value) {
	case "X":
		return quorum.Of(1, 2, 3), true
	case "Y":
		return quorum.Of(3, 4, 5), true
	}
	return quorum.Set{}, false
}

// show writes a slot as "4a" if it is known to be chosen, "4a!" if it is certain, "4a?" if not, "4-" without a value.
func show(s Slot) string {
	value := string(s.Value)
	if s.Ballot.IsZero() {
		value = "-"
	}
	switch {
	case s.Chosen:
		return fmt.Sprint(s.Slot, value)
	case s.Certain:
		return fmt.Sprint(s.Slot, value, "!")
	}
	return fmt.Sprint(s.Slot, value, "?")
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		voters    quorum.Set
		survivors []Survivor
		want      string
		base      int
		complete  bool
		uncertain uint64
		empty     uint64
	}{
		"one of three": {quorum.Of(1, 2, 3), []Survivor{survivor(1, 2, 4, "3:a1 4:b1 5:c1")}, "3a 4b 5c?", 0, false, 1, 0},
		"two of three": {quorum.Of(1, 2, 3), []Survivor{survivor(1, 2, 2, "3:a1"), survivor(2, 2, 2, "3:b2 5:c2")},
			"3b! 4-! 5c!", 0, true, 0, 0},
		"two of five, one lacks what the other has": {quorum.Of(1, 2, 3, 4, 5),
			[]Survivor{survivor(1, 0, 1, "1:a1 2:b1"), survivor(4, 0, 2, "1:a1 2:b1 3:c1 4:d1")},
			"1a 2b 3c? 4d?", 0, false, 2, 0},
		"the higher ballot, whoever has it": {quorum.Of(1, 2, 3, 4, 5),
			[]Survivor{survivor(1, 0, 0, "1:a3 2:b1"), survivor(4, 0, 0, "1:c1 2:d2")}, "1a? 2d? ", 0, false, 2, 0},
		"what is chosen goes before a higher ballot that came late": {quorum.Of(1, 2, 3, 4, 5),
			[]Survivor{survivor(1, 0, 1, "1:a1"), survivor(4, 0, 0, "1:c2 2:d2")}, "1a 2d?", 0, false, 1, 0},
		"the newest state database": {quorum.Of(1, 2, 3, 4, 5),
			[]Survivor{survivor(1, 2, 3, "3:a1"), survivor(4, 5, 6, "6:d1")}, "6d", 1, false, 0, 0},
		"a log behind the state database of another": {quorum.Of(1, 2, 3, 4, 5),
			[]Survivor{survivor(1, 9, 9, ""), survivor(4, 5, 6, "6:d1 7:e1 8:f1")}, "", 0, false, 0, 0},
		"a gap": {quorum.Of(1, 2, 3), []Survivor{survivor(1, 0, 1, "1:a1 4:b1")}, "1a 2-? 3-? 4b?", 0, false, 3, 2},
		"a half of four blocks": {quorum.Of(1, 2, 3, 4),
			[]Survivor{survivor(1, 0, 1, "1:a1 2:b1"), survivor(2, 0, 0, "")}, "1a 2b!", 0, true, 0, 0},
		"a non-voter counts for nothing": {quorum.Of(1, 2, 3),
			[]Survivor{survivor(1, 0, 0, "1:a1"), survivor(9, 0, 0, "1:b2")}, "1b?", 0, false, 1, 0},
		"alone": {quorum.Of(1), []Survivor{survivor(1, 0, 1, "1:a1 2:b1")}, "1a 2b!", 0, true, 0, 0},
		"members have changed": {quorum.Of(1, 2, 3), []Survivor{survivor(4, 0, 1, "1:Y1 2:a1"), survivor(5, 0, 1, "1:Y1")},
			"1Y 2a!", 0, true, 0, 0},
		"members have changed away": {quorum.Of(3, 4, 5),
			[]Survivor{survivor(4, 0, 1, "1:X1 2:a1"), survivor(5, 0, 1, "1:X1")}, "1X 2a?", 0, false, 1, 0},
		"members may have changed away": {quorum.Of(3, 4, 5),
			[]Survivor{survivor(4, 0, 0, "1:X1"), survivor(5, 0, 0, "1:X1")}, "1X!", 0, false, 0, 0},
		"members may have changed where nobody sees": {quorum.Of(3, 4, 5),
			[]Survivor{survivor(4, 0, 0, "2:Y1"), survivor(1, 0, 0, "")}, "1-? 2Y?", 0, false, 2, 1},
		"members may have come that nobody needs": {quorum.Of(1, 2, 3),
			[]Survivor{survivor(4, 0, 0, "1:Y1 2:a1"), survivor(5, 0, 0, "")}, "1Y? 2a?", 0, false, 2, 0},
	} {
		var got []string
		out, err := Merge(Config{Survivors: c.survivors, Voters: c.voters, VotersOf: members}, func(s Slot) error {
			got = append(got, show(s))
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g := strings.Join(got, " "); g != strings.TrimSpace(c.want) || out.Base != c.base || out.Complete != c.complete ||
			out.Uncertain != c.uncertain || out.Empty != c.empty {
			t.Errorf("%s: %s, %+v", name, g, out)
		}
	}
}

func TestContradictions(t *testing.T) {
	for name, c := range map[string]struct {
		survivors []Survivor
		says      string
	}{
		"two values under one ballot": {[]Survivor{survivor(1, 0, 0, "1:a1"), survivor(2, 0, 0, "1:b1")},
			"slot 1, ballot"},
		"a hole in what is chosen": {[]Survivor{survivor(1, 0, 2, "2:a1"), survivor(2, 0, 0, "1:b1")},
			"node 1 knows that slot 1 is chosen, and has nothing there"},
	} {
		_, err := Merge(Config{Survivors: c.survivors, Voters: quorum.Of(1, 2, 3), VotersOf: members},
			func(Slot) error { return nil })
		if !errors.Is(err, ErrContradiction) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsEndAMerge(t *testing.T) {
	stop := errors.New("stop")
	s := survivor(1, 0, 2, "1:a1 2:b1")
	calls := 0
	c := Config{Survivors: []Survivor{s}, Voters: quorum.Of(1), VotersOf: members}
	if _, err := Merge(c, func(Slot) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	c.Survivors[0].Log = broken{stop}
	if _, err := Merge(c, func(Slot) error { return nil }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

type broken struct{ err error }

func (b broken) Entries(multipaxos.Slot, multipaxos.Slot, int) ([]multipaxos.Entry, error) {
	return nil, b.err
}
