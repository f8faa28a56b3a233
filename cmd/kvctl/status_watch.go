package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/shown"
)

const (
	minInterval = 50 * time.Millisecond
	askEvery    = 50 * time.Millisecond  // the resolution of a failover's time
	noMasterFor = 300 * time.Millisecond // shorter times without a master are those of asking
	maxEvents   = 10                     // failovers kept on the screen
	oldFor      = 250 * time.Millisecond // an older answer is marked: its node has been asked again since
	goneFor     = time.Second            // an older answer is not shown
)

// watcher shows the cluster until it is stopped. One goroutine for each endpoint asks, one asks for the members, and one
// shows.
type watcher struct {
	*printer
	client   *client.Client
	interval time.Duration
	survey   survey
	members  client.MemberList
	tracker  tracker
	events   []string
	redraw   bool // the output is a terminal
}

func newWatcher(a *app, c *client.Client, interval time.Duration) *watcher {
	return &watcher{printer: &a.printer, client: c, interval: interval, survey: surveyOf(c.Endpoints()),
		redraw: a.onTerminal(a.stdout) && !a.json}
}

// runFor is run for a limited time. It returns what is wrong with the cluster at the end.
func (w *watcher) runFor(ctx context.Context, d time.Duration) error {
	timed, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if err := w.run(timed); err != nil || ctx.Err() != nil {
		return err
	}
	return w.current(time.Now()).complaint()
}

// run shows the cluster until ctx ends. It fails if nothing listens at any endpoint at its start.
func (w *watcher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	samples, lists := make(chan nodeView), make(chan client.MemberList)
	var asking sync.WaitGroup
	begin := func(endpoints survey) {
		for _, n := range endpoints {
			asking.Go(func() { w.ask(ctx, n.endpoint, samples) })
		}
	}
	begin(w.survey)
	asking.Go(func() { w.listMembers(ctx, lists) })
	defer asking.Wait()
	defer cancel()
	if w.redraw {
		fmt.Fprint(w.stdout, "\x1b[2J")
	}
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	shown := false // the first picture waits until each endpoint has answered, or failed to
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case n := <-samples:
			if err = w.take(n); err == nil && !shown && w.survey.isWhole() {
				if shown, err = true, w.show(time.Now()); err == nil {
					err = w.survey.unreachable()
				}
			}
		case list := <-lists:
			w.members = list
			others := w.survey.others(w.client.Endpoints(), list)
			w.survey = append(w.survey, others...)
			begin(others)
		case now := <-tick.C:
			if shown {
				err = w.show(now)
			}
		}
		if err != nil {
			return err
		}
	}
}

// isWhole reports whether every endpoint has been asked once.
func (s survey) isWhole() bool {
	return !slices.ContainsFunc(s, func(n nodeView) bool { return n.at.IsZero() })
}

// listEvery is how often the list of members is asked for.
const listEvery = 2 * time.Second

// listMembers asks for the members until ctx ends.
func (w *watcher) listMembers(ctx context.Context, out chan<- client.MemberList) {
	_ = poll(ctx, listEvery, func() (bool, error) {
		list := listMembers(ctx, w.client)
		if list.Node == 0 {
			return false, nil
		}
		select {
		case out <- list:
		case <-ctx.Done():
		}
		return false, nil
	})
}

// ask asks one endpoint until ctx ends, or until it is of no member any more. A node that hangs does not delay the
// others.
func (w *watcher) ask(ctx context.Context, endpoint string, out chan<- nodeView) {
	_ = poll(ctx, askEvery, func() (bool, error) {
		n := ask(ctx, w.client, endpoint)
		select {
		case out <- n:
		case <-ctx.Done():
		}
		return errors.Is(n.err, client.ErrInvalid), nil
	})
}

// take records an answer, and shows a change of master at once.
func (w *watcher) take(v nodeView) error {
	i := slices.IndexFunc(w.survey, func(n nodeView) bool { return n.endpoint == v.endpoint })
	if errors.Is(v.err, client.ErrInvalid) { // the member has left, and so its address
		w.survey = slices.Delete(w.survey, i, i+1)
		return nil
	}
	w.survey[i] = v
	if !v.answers() {
		return nil
	}
	f, news := w.tracker.observe(v.status, v.at)
	if !news {
		return nil
	}
	stamp := v.at.Format("15:04:05.000")
	if w.json {
		return printJSON(w.stdout, failoverJSON{
			v.at.Format(time.RFC3339Nano), failoverDetail{f.From, f.To, f.Epoch, f.Took.Milliseconds()},
		})
	}
	if !w.redraw {
		_, err := fmt.Fprintf(shown.Writer(w.stdout), "%s  %v\n", stamp, f)
		return err
	}
	w.events = append(w.events, fmt.Sprintf("%s  %v", stamp, f))
	if len(w.events) > maxEvents {
		w.events = w.events[1:]
	}
	return w.show(time.Now())
}

// failoverJSON is a change of master as --json prints it.
type failoverJSON struct {
	Time     string         `json:"time"`
	Failover failoverDetail `json:"failover"`
}

type failoverDetail struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Epoch uint64 `json:"epoch"`
	Took  int64  `json:"took_ms"`
}

// current returns the survey without the answers that are too old: their nodes have been asked again and are silent.
func (w *watcher) current(now time.Time) survey {
	s := slices.Clone(w.survey)
	for i, n := range s {
		if n.answers() && now.Sub(n.at) > goneFor {
			s[i].err = context.DeadlineExceeded
		}
		if n.answers() {
			s[i].age = now.Sub(n.at)
		}
	}
	return s
}

func (w *watcher) show(now time.Time) error {
	s := w.current(now)
	switch {
	case w.json:
		m, _ := s.master()
		return printJSON(w.stdout, struct {
			Time string `json:"time"`
			surveyJSON
			Lag      uint64 `json:"lag"`
			Revision uint64 `json:"revision"`
			Without  int64  `json:"without_master_ms"`
		}{now.Format(time.RFC3339Nano), s.json(), s.worstLag(), s.revision(), w.without(now, m).Milliseconds()})
	case w.redraw:
		return w.draw(s, now)
	}
	_, err := fmt.Fprintf(shown.Writer(w.stdout), "%s  %s\n", now.Format("15:04:05.000"), w.line(s, now))
	return err
}

// without returns how long no master has been seen. Times as short as the interval of asking count as none.
func (w *watcher) without(now time.Time, master client.Status) time.Duration {
	d := w.tracker.without(now)
	if d < noMasterFor && master.Node != 0 {
		return 0
	}
	return d
}

// line returns the cluster in one line, for logs.
func (w *watcher) line(s survey, now time.Time) string {
	m, ok := s.master()
	master := fmt.Sprintf("master %d  epoch %d  lease %d ms", m.Node, m.Epoch, m.Lease.RemainingMS)
	if b := s.believed(); !ok && s.unasked() != 0 {
		master, ok = fmt.Sprintf("master %d, which is not among the endpoints", b), true
	} else if b := s.vouched(); !ok && b != 0 {
		master, ok = fmt.Sprintf("master %d, which does not answer here", b), true
	}
	if d := w.without(now, m); d > 0 {
		master = fmt.Sprintf("no master for %s, the last was node %d", output.Duration(d), w.tracker.master)
	} else if !ok {
		master = "no master"
	}
	return fmt.Sprintf("%s  lag %d  revision %d  %d/%d nodes", master, s.worstLag(), s.revision(), s.answering(),
		len(s))
}

// draw writes the picture over the last one, line by line, so that it does not flicker.
func (w *watcher) draw(s survey, now time.Time) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s  ", now.Format("15:04:05"))
	_ = s.write(b, w.members) // a Builder takes everything
	m, _ := s.master()
	if d := w.without(now, m); d > 0 {
		fmt.Fprintf(b, "\nno master for %s, the last was node %d\n", output.Duration(d), w.tracker.master)
	}
	if len(w.events) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(w.events, "\n"))
	}
	picture := strings.ReplaceAll(shown.Text(b.String()), "\n", "\x1b[K\n")
	_, err := io.WriteString(w.stdout, "\x1b[H"+picture+"\x1b[J")
	return err
}

// changes returns lines about the newest loss of the master lease and the newest win that followed another tenure,
// oldest first, as the nodes report them. The nodes' clocks may differ: the times are for people.
func (s survey) changes() []string {
	var lost, won *client.TenureChange
	var lostBy, wonBy uint64
	for _, n := range s {
		if !n.answers() {
			continue
		}
		for i := range n.status.Lease.Changes {
			c := &n.status.Lease.Changes[i]
			switch {
			case c.Event == client.TenureLost && (lost == nil || c.Time.After(lost.Time)):
				lost, lostBy = c, n.status.Node
			case c.Event == client.TenureWon && c.Cause != firstTenure && (won == nil || c.Time.After(won.Time)):
				won, wonBy = c, n.status.Node
			}
		}
	}
	var lines []string
	if lost != nil {
		lines = append(lines, changeLine(lostBy, "lost the master lease", lost))
	}
	if won != nil {
		lines = append(lines, changeLine(wonBy, "won the master lease", won))
	}
	if len(lines) == 2 && won.Time.Before(lost.Time) {
		lines[0], lines[1] = lines[1], lines[0]
	}
	return lines
}

// firstTenure is the cause of a win that followed no other tenure as far as its node knows: no change of master.
const firstTenure = "none"

func changeLine(node uint64, what string, c *client.TenureChange) string {
	return fmt.Sprintf("%s  node %d %s: %s", c.Time.Local().Format("15:04:05.000"), node, what, c.Detail)
}
