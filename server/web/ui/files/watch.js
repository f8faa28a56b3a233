// A live watch of a prefix. The stream is read with fetch: an EventSource cannot send a token.
import { ask } from "./api.js";
import { h } from "./dom.js";
import { fromBase64, start, toText } from "./codec.js";
import { parse } from "./json.js";
import { name } from "./names.js";
import { bytes, time } from "./text.js";

const maxEvents = 50; // that are kept
const maxLine = 32 << 20; // of text; a node sends none longer
const first = 1000,
  last = 15000; // ms to wait before the next try
const shownText = 120; // characters of a value

// Watch follows the changes below a prefix until it is closed. changed is called for each; draw when there is something
// to show.
export class Watch {
  constructor(prefix, draw, changed) {
    Object.assign(this, { prefix, draw, changed, events: [], position: null, state: "connecting", wait: first });
    this.run();
  }

  close() {
    this.closed = true;
    this.stop?.abort();
    return null;
  }

  // pause ends the stream while nobody looks. It goes on where it was.
  pause(on) {
    this.paused = on;
    if (on) this.stop?.abort();
    else this.resume?.();
  }

  async run() {
    while (!this.closed) {
      if (this.paused)
        await new Promise((done) => {
          this.resume = done;
        });
      this.stop = new AbortController();
      try {
        const query = { prefix: this.prefix || null, index: this.position };
        const { response } = await ask("GET", "v1/watch", { query, stream: true, signal: this.stop.signal });
        this.tell("live");
        this.wait = first;
        await this.read(response.body.getReader());
      } catch (err) {
        if (this.closed) return;
        if (err.denied) {
          this.tell("denied", err.message);
          return;
        }
      }
      if (this.closed) return;
      this.tell(this.paused ? "paused" : "broken");
      if (!this.paused) await new Promise((done) => setTimeout(done, this.wait));
      this.wait = Math.min(last, 2 * this.wait);
    }
  }

  async read(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      if (rest.length > maxLine) return;
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      for (const b of blocks) this.block(b);
      if (blocks.length > 0) this.draw();
    }
  }

  block(text) {
    const fields = Object.fromEntries(text.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
    if (fields.event) {
      this.events.unshift({
        n: (this.n = (this.n ?? 0) + 1),
        at: Date.now(),
        kind: fields.event,
        ...shortened(parse(fields.data)),
      });
      this.events.splice(maxEvents);
      this.changed();
    }
    if (fields.id) this.position = fields.id;
  }

  tell(state, why) {
    Object.assign(this, { state, why });
    this.draw();
  }
}

// shortened keeps of an event what is shown of it.
function shortened(data) {
  const value = data.Value ?? "";
  const raw = fromBase64(value.slice(0, 8 * shownText)); // a whole number of groups of four
  const text = toText(start(raw, 4 * shownText)) ?? `${bytes((value.length * 3) / 4)} of bytes`;
  return {
    key: data.Key ?? (data.Session ? `session ${data.Session}` : ""),
    revision: data.ModifyIndex ?? data.Index,
    text: data.Value === undefined ? "" : text.length > shownText ? text.slice(0, shownText) + " …" : text,
  };
}

const states = {
  connecting: "Connecting …",
  live: "Live",
  paused: "Paused while the tab is hidden",
  broken: "The stream ended; trying again",
  denied: "Not allowed",
};
const kinds = { set: "set", delete: "deleted", session: "session", compacted: "some changes were missed" };

// watched shows what a watch has seen.
export function watched(w) {
  return h(
    "section",
    { class: "watch", "aria-label": "Watch" },
    h(
      "p",
      {},
      h(
        "span",
        { class: "state " + (w.state === "live" ? "good" : "") },
        h("span", { class: "dot", "aria-hidden": "true" }),
        states[w.state],
      ),
      h(
        "span",
        { class: "quiet" },
        w.why ?? (w.prefix ? [" changes below ", h("code", {}, name(w.prefix))] : " all changes"),
      ),
    ),
    h(
      "ol",
      { class: "events", "aria-live": "polite", tabindex: 0, "aria-label": "Changes" },
      w.events.map((e) =>
        h(
          "li",
          { key: e.n, class: e.kind },
          h("time", { datetime: new Date(e.at).toISOString() }, time(e.at)),
          h("span", { class: "role" }, kinds[e.kind] ?? e.kind),
          h(
            "span",
            { class: "what" },
            h("code", {}, name(e.key)),
            e.text && h("span", { class: "text" }, name(e.text)),
          ),
        ),
      ),
    ),
    w.events.length === 0 && w.state === "live" && h("p", { class: "quiet" }, "Nothing has changed since."),
  );
}
