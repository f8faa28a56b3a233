package explore

import "fmt"

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

// retrace walks the path again, without relabelling anybody, and tells it.
func retrace(m model, n narrator, out outcome) []Step {
	x := m.explorer()
	at := m.start()
	var steps []Step
	take := func(want func(next *state) bool) {
		var chosen state
		var by action
		found := false
		x.expand(&at, func(next *state, a action) {
			if !found && want(next) {
				chosen, by, found = *next, a, true
			}
		})
		if !found {
			panic(fmt.Sprintf("explore: step %d of a trace cannot be found again", len(steps)+1))
		}
		steps = append(steps, Step{n.say(&at, by), n.tell(&at, &chosen, by)})
		at = chosen
	}
	for _, p := range out.path[1:] {
		take(func(next *state) bool {
			c := *next
			return x.canonical(&c) == p
		})
	}
	if p := out.path[len(out.path)-1]; true {
		c := at
		if x.canonical(&c) != p {
			panic("explore: a trace ends elsewhere")
		}
	}
	take(func(next *state) bool { return x.broken(next) == out.what })
	return steps
}
