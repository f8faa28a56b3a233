package resp

import "strings"

// eventFlags is notify-keyspace-events: what a connection is told of keys. It belongs to the connection, so that no
// client can switch off what others are told. The default is everything.
type eventFlags struct{ set *string } // each flag once, in the order of allEventFlags

// notifyEvents is the parameter's name.
const notifyEvents = "notify-keyspace-events"

const (
	eventClasses  = "g$lshzxetd" // which A stands for; there are events of g, $ and x alone
	allEventFlags = eventClasses + "KEmn"
)

// change makes f what the connection is told.
func (s *subscriptions) change(f eventFlags) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = f
}

// parse sets f to text, as CONFIG SET has it, and reports whether it can be that.
func (f *eventFlags) parse(text string) bool {
	if strings.Trim(text, allEventFlags+"A") != "" {
		return false
	}
	var set string // each flag once: the text may be as long as a value
	for _, flag := range strings.Split(allEventFlags, "") {
		if strings.Contains(text, flag) || strings.Contains(text, "A") && strings.Contains(eventClasses, flag) {
			set += flag
		}
	}
	f.set = &set
	return true
}

// has reports whether what flag stands for is told.
func (f eventFlags) has(flag string) bool {
	return f.set == nil || strings.Contains(*f.set, flag)
}

// text returns the flags as CONFIG GET has them.
func (f eventFlags) text() string {
	if f.set == nil {
		return "AKE"
	}
	if rest, all := strings.CutPrefix(*f.set, eventClasses); all {
		return "A" + rest
	}
	return *f.set
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
