package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// of finds the descriptions of elements below one, by a test.
const of = `const of = (d, fits) => typeof d !== "object" ? [] : [...(fits(d) ? [d] : []), ...d.kids.flatMap((k) => of(k, fits))];`

// A curve has its newest sample at the right, its largest at the top, and a gap where samples are missing. It says in
// words what it shows.
func TestCurves(t *testing.T) {
	var got [][]string
	inNode(t, `import { charts } from "./charts.js"; `+of+`
		const lags = (two, three) => [{ node: 3, slots: three }, { node: 2, slots: two }].filter((l) => l.slots != null);
		const history = { span_ms: 600000, every_ms: 5000, samples: [
			{ age_ms: 20000, requests_per_s: 40, p99_ms: 0, lags: lags(7, 0) },
			{ age_ms: 15000, requests_per_s: 20, p99_ms: 1500, lags: lags(2, 5) },
			{ age_ms: 0, requests_per_s: 10, p99_ms: 2.5, lags: lags(1) }] };
		const drawn = (at) => of(charts(history, at), (d) => d.tag === "svg").map((s) =>
			[s.props["aria-label"], ...of(s, (d) => d.tag === "path").map((p) => p.props.d)]);
		console.log(JSON.stringify([...drawn(Date.now()), drawn(Date.now() - 60000)[0]]))`, &got)
	want := [][]string{
		{"Requests a second: 10 now, at most 40 in ten minutes",
			"M232.0 2.0L234.0 24.5V48H232.0ZM240.0 35.8h1V48H240.0Z", "M232.0 2.0L234.0 24.5M240.0 35.8h1"},
		{"99 % answered within: 2.5 ms now, at most 1.5 s in ten minutes",
			"M232.0 47.0L234.0 2.0V48H232.0ZM240.0 46.9h1V48H240.0Z", "M232.0 47.0L234.0 2.0M240.0 46.9h1"},
		{"Lag of node 2: 1 slot now, at most 7 slots in ten minutes", // ten slots would be at the top
			"M232.0 15.5L234.0 38.0V48H232.0ZM240.0 42.5h1V48H240.0Z", "M232.0 15.5L234.0 38.0M240.0 42.5h1"},
		{"Lag of node 3: 5 slots now, at most 5 slots in ten minutes",
			"M232.0 47.0L234.0 24.5V48H232.0Z", "M232.0 47.0L234.0 24.5"},
		{"Requests a second: 10 now, at most 40 in ten minutes", // as they are a minute later
			"M208.0 2.0L210.0 24.5V48H208.0ZM216.0 35.8h1V48H216.0Z", "M208.0 2.0L210.0 24.5M216.0 35.8h1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each change of the master is told once and newest first, by the record of a member rather than by what the page has
// seen. Only the newest are kept, whether their member still remembers them or not.
func TestChangesOfTheMaster(t *testing.T) {
	var got map[string][]string
	inNode(t, `import { Changes, timeline } from "./timeline.js"; `+of+`
		const text = (d) => (typeof d === "object" ? d.kids.map(text).join("") : d);
		const at = (s) => new Date(Date.now() + 1000 * s).toISOString();
		const won = (s, before, detail) => ({ time: at(s), event: "won", before, detail });
		const lost = (s, detail) => ({ time: at(s), event: "lost", held_ms: 5000, detail });
		const told = (c) => c.list().map((x) => [x.kind, x.text, x.extra, x.detail].filter(Boolean).join(", "));
		const hears = (master, epoch) => ({ node: 1, master, epoch,
			peers: [{ node: 2, connected: true, last_heard_ms: 0 }, { node: 3, connected: true, last_heard_ms: 5000 }] });
		const c = new Changes(), out = {};
		for (let i = 0; i < 2; i++) {
			c.take(2, [won(-300, 1, "crashed"), lost(-200, "handed over")].map((x, j) => ({ ...x, time: ["2026-01-01T00:00:00Z",
				"2026-01-01T00:01:40Z"][j] })));
			c.take(1, [{ ...won(0, 1), time: "2026-01-01T00:00:50Z" }]);
		}
		c.take(2, []); // it was restarted
		out.once = told(c);
		out.looks = [c.look(null, hears(2, 1)), c.look(hears(2, 1), hears(2, 1)), c.look(hears(2, 1), hears(3, 1)),
			c.look(hears(2, 1), hears(2, 2000)), c.look(hears(2, 1), hears(1, 1))].map(String);
		out.seen = told(c).slice(0, 4);
		c.take(3, [won(-5, 2, "recorded")]);
		out.recorded = told(c).slice(0, 2);
		c.take(1, Array.from({ length: 60 }, (_, i) => won(3600 + i, 2, "newer " + i)));
		out.most = [told(c).length, told(c)[0], told(c).at(-1)].map(String);
		const shown = timeline(c, [2, 3]);
		out.shown = of(shown, (d) => d.tag === "li").slice(0, 1).map((li) => text(li.kids[1]));
		out.silent = of(shown, (d) => d.tag === "p").slice(-1).map(text);
		console.log(JSON.stringify(out))`, &got)
	want := map[string][]string{
		"once": {"lost, Node 2 lost the lease, held for 5.0 s, handed over", "won, Node 1 gained the lease",
			"won, Node 2 gained the lease after node 1, crashed"},
		"looks": {"false", "false", "true", "true", "true"},
		"seen": {"seen, Node 1 is master, epoch 1, seen by this page", "seen, Node 2 is master, epoch 2,000, seen by this page",
			"seen, No master is heard, seen by this page", "lost, Node 2 lost the lease, held for 5.0 s, handed over"},
		"recorded": {"won, Node 3 gained the lease after node 2, recorded",
			"lost, Node 2 lost the lease, held for 5.0 s, handed over"},
		"most": {"40", "won, Node 1 gained the lease after node 2, newer 59",
			"won, Node 1 gained the lease after node 2, newer 20"},
		"shown": {"Node 1 gained the lease after node 2 · newer 59"},
		"silent": {"Each member records its own tenures until it is restarted, by its own clock. " +
			"Not asked or without an answer: node 2, node 3."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
