// What asks the node again and again: one question at a time, at most one a second, and none while nobody looks.

const tick = 1000; // ms
const share = 20; // a question waits for so many times as long as the last answer to it took

// Poll asks the sources in turn. A source is {every, ask}: ask returns a promise that never fails.
export class Poll {
  constructor() {
    this.sources = [];
    this.busy = false;
    setInterval(() => this.turn(), tick);
    document.addEventListener("visibilitychange", () => this.turn());
  }

  // use sets the sources. Those that were there keep their turn.
  use(sources) {
    const old = this.sources;
    this.sources = sources.map((s) => ({ due: 0, ...s, ...(old.find((o) => o.name === s.name) && { due: old.find((o) => o.name === s.name).due }) }));
    this.turn();
  }

  // soon has a source asked at its next turn.
  soon(name) {
    for (const s of this.sources) if (s.name === name) s.due = 0;
    this.turn();
  }

  async turn() {
    const now = performance.now();
    if (this.busy || document.hidden || now - (this.last ?? -tick) < tick - 50) return;
    const next = this.sources.filter((s) => s.due <= now).sort((a, b) => a.due - b.due)[0];
    if (!next) return;
    this.busy = true;
    this.last = now;
    try {
      await next.ask();
    } finally {
      next.due = now + Math.max(next.every - 50, share * (performance.now() - now));
      this.busy = false;
    }
  }
}
