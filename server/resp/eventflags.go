package resp

import (
	"strings"
	"sync/atomic"
)

// eventFlags is notify-keyspace-events: what subscribers of this node are told. It is safe for concurrent use.
type eventFlags struct{ set atomic.Pointer[string] }

// notifyEvents is the parameter's name.
const notifyEvents = "notify-keyspace-events"

const (
	eventClasses  = "g$lshzxetd" // which A stands for; there are events of g, $ and x alone
	allEventFlags = eventClasses + "KEmn"
)

// change makes text, as CONFIG SET has it, what is told, and reports whether it can be.
func (f *eventFlags) change(text string) bool {
	set := strings.ReplaceAll(text, "A", eventClasses)
	if strings.Trim(set, allEventFlags) != "" {
		return false
	}
	f.set.Store(&set)
	return true
}

// has reports whether what flag stands for is told.
func (f *eventFlags) has(flag string) bool {
	set := f.set.Load()
	return set == nil || strings.Contains(*set, flag)
}

// text returns the flags as CONFIG GET has them.
func (f *eventFlags) text() string {
	set := f.set.Load()
	if set == nil {
		return "AKE"
	}
	var out string
	for _, flag := range strings.Split(allEventFlags, "") {
		if strings.Contains(*set, flag) {
			out += flag
		}
	}
	if rest, all := strings.CutPrefix(out, eventClasses); all {
		out = "A" + rest
	}
	return out
}

// classOf returns the flag of an event.
func classOf(event string) string {
	switch event {
	case "set":
		return "$"
	case "expired":
		return "x"
	}
	return "g"
}
