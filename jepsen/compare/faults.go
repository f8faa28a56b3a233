package compare

import "time"

// strike applies a fault.
func (w *world) strike(f fault) {
	if f.kind == faultStrike || f.kind == faultLeave {
		w.strikeOwner(f)
		return
	}
	n := w.nodes[f.node]
	switch f.kind {
	case faultCrash:
		if n.up && !n.still {
			w.crash(n)
			w.push(event{at: w.now + f.d, kind: kindBoot, node: n.i, runs: n.runs})
		}
	case faultSuspend, faultFreeze:
		if !n.acts() {
			return
		}
		n.still = true
		k := kindResume
		if f.kind == faultFreeze {
			n.elapsed.freeze(w.now, true)
			n.wall.freeze(w.now, true)
			k = kindThaw
		}
		w.push(event{at: w.now + f.d, kind: k, node: n.i})
	case faultStepWall:
		n.wall.step(w.now, f.d)
	case faultStepElapsed:
		n.elapsed.step(w.now, f.d)
	case faultWallRate:
		n.wall.run(w.now, f.ppm)
	}
}

func (w *world) crash(n *node) {
	n.up, n.runs = false, n.runs+1
	n.contender, n.voter = nil, nil
}

// strikeOwner applies a fault to the owner, now or as soon as there is one.
func (w *world) strikeOwner(f fault) {
	for _, n := range w.nodes {
		if !n.owns() {
			continue
		}
		t := &w.tally
		t.struckAt, t.atStrike.messages, t.atStrike.rounds = w.now, t.messages, t.rounds
		if f.kind == faultStrike {
			w.crash(n)
			return
		}
		n.wants, n.keeping, n.trying = false, 0, false
		out := n.contender.leave(n.read())
		if len(out) > 0 {
			n.owned = false
		}
		w.post(n, out)
		return
	}
	f.at = w.now + 10*time.Millisecond
	w.push(event{at: f.at, kind: kindFault, node: -1, fault: f})
}

// resume lets a stopped node continue. Its timers come first, as in a process that reads its clock when it is scheduled
// again, then the messages that arrived meanwhile.
func (w *world) resume(n *node, thaw bool) {
	n.still = false
	if thaw {
		n.elapsed.freeze(w.now, false)
		n.wall.freeze(w.now, false)
	}
	held := n.held
	n.held = nil
	for _, e := range held {
		e.at = w.now
		w.push(e)
	}
	w.wake(n, w.now)
}
