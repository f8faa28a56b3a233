package explore

// Step is one action of a trace.
type Step struct {
	Script string // as a script says it
	Line   string // who, rule, message, clocks
}

// narrator puts actions and states of a model into words.
type narrator interface {
	// say is what the action is called in a script. In s, and of a, all that matters are names: a holds no message
	// that s does not.
	say(s *state, a action) string
	// tell is a line about a and the state that it led to.
	tell(before, after *state, a action) string
}

// retrace walks the path again, without relabelling anybody, and tells it. It is nil if the path leads nowhere: then
// what looked like a symmetry is none.
func retrace(m model, n narrator, out outcome) []Step {
	x := m.explorer()
	at := m.start()
	var steps []Step
	take := func(want func(next *state) bool) bool {
		var chosen state
		var by action
		found := false
		x.expand(&at, func(next *state, a action) {
			if !found && want(next) {
				chosen, by, found = *next, a, true
			}
		})
		if !found {
			return false
		}
		steps = append(steps, Step{n.say(&at, by), n.tell(&at, &chosen, by)})
		at = chosen
		return true
	}
	for _, p := range out.path[1:] {
		if !take(func(next *state) bool {
			c := *next
			return x.canonical(&c) == p
		}) {
			return nil
		}
	}
	if !take(func(next *state) bool { return x.broken(next) == out.what }) {
		return nil
	}
	return steps
}
