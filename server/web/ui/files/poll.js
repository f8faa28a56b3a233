// What asks the node again and again: in each lane one question at a time, at most one a second unless it is
// urgent, and none while nobody looks.

const tick = 250; // ms
const apart = 1000; // ms between two questions of a lane
const share = 4; // a question waits for so many times as long as the last answer to it took,
const most = 3000; // and for so many ms at most: a node that hung must be seen to answer again

const hurry = 400; // ms between two questions that are urgent

const every = (source) => (source.urgent?.() ? hurry : source.every);

// Poll asks the sources in turn. A source is {name, every, ask, keep, lane, urgent}: ask returns a promise that never fails, and
// ends within a bounded time. A question that hangs holds up those of its own lane only.
export class Poll {
  constructor() {
    this.sources = [];
    this.lanes = new Map(); // name: {busy, last}; last is when the last question was asked
    setInterval(() => this.turn(), tick);
    document.addEventListener("visibilitychange", () => this.turn());
  }

  // use sets the sources. They are asked at once, but for those with keep that were there before.
  use(sources) {
    const before = this.sources;
    this.sources = sources.map((s) => ({
      ...s,
      due: (s.keep && before.find((b) => b.name === s.name)?.due) || 0,
    }));
    this.turn();
  }

  // soon has a source asked next, without a wait: a person has done something.
  soon(name) {
    for (const s of this.sources) if (s.name === name) s.due = 0;
    this.turn();
  }

  turn() {
    for (const lane of new Set(this.sources.map((s) => s.lane))) this.turnOf(lane);
  }

  async turnOf(name) {
    if (!this.lanes.has(name)) this.lanes.set(name, { busy: false, last: 0 });
    const lane = this.lanes.get(name);
    const now = performance.now();
    if (lane.busy || document.hidden) return;
    const own = () => this.sources.filter((s) => s.lane === name);
    const next = own()
      .filter((s) => s.due <= now)
      .sort((a, b) => a.due - b.due)[0];
    if (!next || (next.due > 0 && now - lane.last < Math.min(apart, every(next)) - 50)) return;
    lane.busy = true;
    lane.last = now;
    try {
      await next.ask();
    } finally {
      const took = performance.now() - now;
      next.due = now + Math.max(every(next) - 50, took + Math.min(most, share * took));
      lane.busy = false;
    }
    if (own().some((s) => s.due === 0)) this.turnOf(name);
  }
}
