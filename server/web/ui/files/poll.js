// What asks the node again and again: one question at a time, at most one a second, and none while nobody looks.

const tick = 1000; // ms
const share = 20; // a question waits for so many times as long as the last answer to it took

// Poll asks the sources in turn. A source is {name, every, ask, keep}: ask returns a promise that
// never fails.
export class Poll {
  constructor() {
    this.sources = [];
    this.busy = false;
    this.last = 0; // when the last question was asked
    setInterval(() => this.turn(), tick);
    document.addEventListener("visibilitychange", () => this.turn());
  }

  // use sets the sources. They are asked at once, but for those with keep that were there before.
  use(sources) {
    const before = this.sources;
    this.sources = sources.map((s) => ({ ...s, due: (s.keep && before.find((b) => b.name === s.name)?.due) || 0 }));
    this.turn();
  }

  // soon has a source asked next, without a wait: a person has done something.
  soon(name) {
    for (const s of this.sources) if (s.name === name) s.due = 0;
    this.turn();
  }

  async turn() {
    const now = performance.now();
    if (this.busy || document.hidden) return;
    const next = this.sources.filter((s) => s.due <= now).sort((a, b) => a.due - b.due)[0];
    if (!next || (next.due > 0 && now - this.last < tick - 50)) return;
    this.busy = true;
    this.last = now;
    try {
      await next.ask();
    } finally {
      next.due = now + Math.max(next.every - 50, share * (performance.now() - now));
      this.busy = false;
    }
    if (this.sources.some((s) => s.due === 0)) this.turn();
  }
}
