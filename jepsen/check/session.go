package check

import (
	"fmt"
	"slices"
	"time"

	"tenure/jepsen/history"
)

// What a run may take longer than it should, and how much faster than they should the clocks of nodes may go.
const (
	sessionGrace = 2 // TTLs after which a session ends while its master lives
	sessionSlack = 2 * time.Second
	sightSlack   = time.Second // after which a new master was certainly seen
)

// fast returns the least that a time of d takes on the harness's clock, if a node's goes too fast or jumps ahead.
func fast(d time.Duration) time.Duration { return max(0, d*9/10-50*time.Millisecond) }

// Sessions checks sessions and what becomes of the locks that they hold. Each key is locked by one session first, and
// then by another.
//
// A session does not end before its TTL has passed since the call of any renewal that was acknowledged, and ends within
// two of them, and some slack, after the last renewal or the last change of master. Nobody acquires within the
// lock-delay after it was last seen to live, nor is refused for much longer than that; a release has no delay. And from
// streams of all changes: with a session, in the same revision, end its locks, by release or deletion as it was
// created.
func Sessions(ops []history.Op) Result {
	r := Result{Checked: len(useful(ops))}
	s := &sessions{r: &r, byID: map[string]*life{}}
	for _, op := range ops {
		if op.Kind == history.Master {
			s.masters = append(s.masters, op)
		}
		if op.Kind == history.Create && op.Outcome == history.OK {
			s.byID[op.Session] = &life{create: op, beats: []history.Op{op}, seen: []history.Op{op}}
			r.Keys++
		}
	}
	for _, op := range ops {
		if l := s.byID[op.Session]; l != nil {
			l.file(op)
		}
	}
	first := map[string][]*life{} // by the key that they locked first
	for _, id := range sortedLives(s.byID) {
		if s.byID[id].key == "" {
			continue
		}
		first[s.byID[id].key] = append(first[s.byID[id].key], s.byID[id])
	}
	for _, op := range ops {
		if op.Kind == history.Get && op.Outcome == history.OK {
			looked(op, first[op.Key])
		}
	}
	for _, id := range sortedLives(s.byID) {
		s.life(s.byID[id])
	}
	s.keys(ops)
	s.streams(ops)
	return r
}

// sessions is the check of all of them.
type sessions struct {
	r       *Result
	byID    map[string]*life
	masters []history.Op
}

// life is what is known of a session.
type life struct {
	create  history.Op
	key     string // that it locked first
	taken   history.Op
	beats   []history.Op // its creation and its renewals that were acknowledged
	seen    []history.Op // all that show it to live
	gone    []history.Op // all that show it to have ended
	doubt   bool         // a renewal's outcome is unknown
	destroy history.Op   // the first that was called
	release history.Op   // of what it had locked, too
}

func (l *life) file(op history.Op) {
	switch {
	case op.Outcome == history.Fail:
	case op.Kind == history.Destroy && (l.destroy.Kind == "" || op.Call < l.destroy.Call):
		l.destroy = op
	case op.Kind == history.Release && op.Outcome == history.Info || op.Kind == history.Release && op.Matched:
		l.release = op
	case op.Kind == history.Renew && op.Outcome == history.Info:
		l.doubt = true
	case op.Outcome != history.OK:
	case op.Absent && (op.Kind == history.Renew || op.Kind == history.SessionInfo || op.Kind == history.Acquire):
		l.gone = append(l.gone, op)
	case op.Kind == history.Renew:
		l.beats, l.seen = append(l.beats, op), append(l.seen, op)
	case op.Kind == history.SessionInfo, op.Kind == history.Get:
		l.seen = append(l.seen, op)
	case op.Kind == history.Acquire && op.Matched:
		l.seen = append(l.seen, op)
		if l.key == "" {
			l.key, l.taken = op.Key, op
		}
	}
}

// looked notes a read of a key that shows that a session which had locked it does not hold it any more.
func looked(op history.Op, holders []*life) {
	for _, l := range holders {
		if l.taken.Return < op.Call && op.Session != l.create.Session && (l.release.Kind == "" ||
			l.release.Call > op.Return) {
			l.gone = append(l.gone, op)
		}
	}
}

func (s *sessions) life(l *life) {
	ttl := l.create.TTL
	for _, g := range l.gone {
		for _, b := range l.beats {
			if b.Call+fast(ttl) > g.Return && b.Call < g.Return && (l.destroy.Kind == "" || l.destroy.Call > g.Return) {
				s.r.add("ended early", fmt.Sprintf("a session of %v has ended %v after it was renewed", ttl,
					g.Return-b.Call), s.proof(l, b, g)...)
			}
		}
		for _, o := range l.seen {
			if o.Call > g.Return {
				s.r.add("resurrected", "a session lives after it was seen to have ended", s.proof(l, g, o)...)
			}
		}
	}
	if l.doubt {
		return
	}
	last := l.beats[0]
	for _, b := range l.beats {
		if b.Return > last.Return {
			last = b
		}
	}
	for _, o := range l.seen {
		if since := s.since(last.Return, o); o.Call > since+sessionGrace*ttl+sessionSlack {
			s.r.add("outlived", fmt.Sprintf("a session of %v lives %v after it was renewed", ttl, o.Call-last.Return),
				s.proof(l, last, o)...)
		}
	}
}

// proof returns ops with what says of whom they are.
func (s *sessions) proof(l *life, ops ...history.Op) []history.Op {
	out := append([]history.Op{l.create}, ops...)
	if l.taken.Kind != "" {
		out = append(out, l.taken)
	}
	return out
}

// since returns the last time before op at which all times may have been begun anew: after, or a new mastership.
func (s *sessions) since(after time.Duration, op history.Op) time.Duration {
	for _, m := range s.masters {
		if m.Call <= op.Call+sightSlack {
			after = max(after, m.Return)
		}
	}
	return after
}

// keys checks when what a session has held could be acquired by another.
func (s *sessions) keys(ops []history.Op) {
	first := map[string]*life{}
	for _, l := range s.byID {
		if l.key != "" && (first[l.key] == nil || l.taken.Return < first[l.key].taken.Return) {
			first[l.key] = l
		}
	}
	for _, op := range ops {
		if op.Kind != history.Acquire || op.Outcome != history.OK || op.Absent {
			continue
		}
		l := first[op.Key]
		switch {
		case l == nil:
			if !op.Matched {
				s.r.add("refused for nothing", fmt.Sprintf("%s was never locked, and an acquisition is refused",
					op.Key), op)
			}
		case l.create.Session == op.Session || op.Call < l.taken.Return:
		case l.release.Done() && l.release.Return < op.Call:
			if !op.Matched {
				s.r.add("delay after a release", fmt.Sprintf("%s was released, and is refused", op.Key), s.proof(l,
					l.release, op)...)
			}
		case l.release.Kind == "":
			s.delayed(l, op)
		}
	}
}

// delayed checks an acquisition of what a session held that ended otherwise than by a release.
func (s *sessions) delayed(l *life, op history.Op) {
	delay := l.create.Delay
	if op.Matched {
		lived := l.seen[0]
		for _, o := range l.seen {
			if o.Call > lived.Call {
				lived = o
			}
		}
		if d := l.destroy; d.Kind != "" && d.Call > lived.Call && lived.Call+fast(l.create.TTL) > d.Return {
			lived = d
		}
		if op.Return < lived.Call+fast(delay) {
			s.r.add("lock-delay cut short", fmt.Sprintf("%s was acquired %v after it was held, its lock-delay is %v",
				op.Key, op.Return-lived.Call, delay),
				s.proof(l, lived, op)...)
		}
		return
	}
	var end history.Op
	if l.destroy.Outcome == history.OK {
		end = l.destroy
	}
	for _, g := range l.gone {
		if end.Kind == "" || g.Return < end.Return {
			end = g
		}
	}
	if end.Kind != "" && op.Call > s.since(end.Return, op)+delay+sessionSlack {
		s.r.add("lock-delay too long", fmt.Sprintf("%s is refused %v after it was freed, its lock-delay is %v", op.Key,
			op.Call-end.Return, delay),
			s.proof(l, end, op)...)
	}
}

func sortedLives(m map[string]*life) (out []string) {
	for id := range m {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}
