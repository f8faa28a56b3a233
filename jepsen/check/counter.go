package check

import (
	"fmt"
	"strconv"

	"tenure/jepsen/history"
)

// Counter checks keys that clients increment, by compare-and-set or by one command, and read. A number that was read,
// or made by an acknowledged increment, was the state at some time between call and return. Such numbers never fall in
// the order of time, and no two acknowledged increments made the same number. A read lies between the increments
// acknowledged before it and those begun before its end.
func Counter(ops []history.Op) Result {
	r := Result{Counts: map[string]int{}}
	names, by := groups(ops, func(op history.Op) string { return op.Key })
	for _, n := range names {
		r.merge(counterKey(by[n]))
	}
	return r
}

func counterKey(all []history.Op) Result {
	ops := useful(all)
	r := Result{Checked: len(ops), Keys: 1, Counts: repeated(ops)}
	var shown []history.Op
	made := map[int64]history.Op{}
	for _, op := range ops {
		if !shows(op) {
			continue
		}
		n, err := count(op)
		if err != nil {
			r.add("not a number", err.Error(), op)
			continue
		}
		shown = append(shown, op)
		if increments(op) {
			if other, ok := made[n]; ok {
				r.add("lost increment", fmt.Sprintf("two acknowledged increments made %d", n), other, op)
			}
			made[n] = op
		}
	}
	falls(&r, shown)
	bounds(&r, ops, shown)
	return r
}

// increments reports whether op makes the number larger by 1, if it is done.
func increments(op history.Op) bool { return op.Kind == history.CAS || op.Kind == history.Incr }

// Repeated is the name of the count of increments that were sent more than once and acknowledged.
const Repeated = "increments sent again"

// repeated counts them, if there are any.
func repeated(ops []history.Op) map[string]int {
	n := map[string]int{}
	for _, op := range ops {
		if op.Tries > 1 && op.Done() {
			n[Repeated]++
		}
	}
	return n
}

// count returns the number that the op read or wrote; an absent key counts 0.
func count(op history.Op) (int64, error) {
	if op.Absent {
		return 0, nil
	}
	n, err := strconv.ParseInt(op.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the counter %s held %q", op.Key, op.Value)
	}
	return n, nil
}

func falls(r *Result, shown []history.Op) {
	var most history.Op
	highest := int64(-1)
	earlier(shown, shown, func(op history.Op) {
		if n, _ := count(op); n > highest {
			most, highest = op, n
		}
	}, func(op history.Op) {
		n, _ := count(op)
		if n < highest || (increments(op) && n == highest) {
			r.add("stale", fmt.Sprintf("%d after %d had been seen", n, highest), most, op)
		}
	})
}

// bounds checks each number against how many increments can and must have been done.
func bounds(r *Result, ops, shown []history.Op) {
	done := int64(0)
	var last history.Op
	earlier(ops, shown, func(op history.Op) {
		if increments(op) && op.Done() {
			done++
			last = op
		}
	}, func(op history.Op) {
		if n, _ := count(op); n < done {
			r.add("lost increment", fmt.Sprintf("%d although %d increments were acknowledged before", n, done), last,
				op)
		}
	})
	// What had been begun when a number was shown: the same question with calls and returns exchanged.
	begun := make([]history.Op, 0, len(ops))
	for _, op := range ops {
		if increments(op) && (op.Outcome == history.Info || op.Done()) {
			op.Return = op.Call
			begun = append(begun, op)
		}
	}
	ends := append([]history.Op(nil), shown...)
	for i := range ends {
		ends[i].Call = ends[i].Return
	}
	n := int64(0)
	earlier(begun, ends, func(history.Op) { n++ }, func(op history.Op) {
		if c, _ := count(op); c > n {
			r.add("too many", fmt.Sprintf("%d although only %d increments had begun", c, n), op)
		}
	})
}
