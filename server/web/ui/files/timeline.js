// Why the master changed: what all members have recorded of their own tenures, and what this page has seen, as one list.
import { h } from "./dom.js";
import { masterOf } from "./heard.js";
import { group, span, time } from "./text.js";

const most = 40; // changes that are kept and shown
const near = 10000; // ms; what the page has seen so shortly before or after a record is told by the record

// Changes gathers the changes of the master. What was recorded by a node is kept after the node has forgotten it, as
// long as the page is open.
export class Changes {
  constructor() {
    this.records = new Map(); // by node, time and kind, so that each is there once
    this.seen = []; // newest first: {at, text}
  }

  // look notes whether the node hears another master now than it did before, and reports it.
  look(before, now) {
    if (!before || (masterOf(before) === masterOf(now) && before.epoch === now.epoch)) return false;
    const master = masterOf(now);
    const text = master ? `Node ${master} is master, epoch ${group(now.epoch)}` : "No master is heard";
    this.seen.unshift({ at: Date.now(), text, kind: "seen", detail: "seen by this page" });
    this.seen.splice(most);
    return true;
  }

  // take takes what a member has recorded.
  take(node, changes) {
    for (const c of changes) {
      const at = Date.parse(c.time);
      this.records.set(`${node} ${at} ${c.event}`, { node, at, ...described(node, c) });
    }
    const old = [...this.records].sort(([, a], [, b]) => b.at - a.at).slice(most);
    for (const [key] of old) this.records.delete(key);
  }

  list() {
    const records = [...this.records.values()];
    const untold = this.seen.filter((x) => !records.some((r) => Math.abs(r.at - x.at) < near));
    return [...records, ...untold].sort((a, b) => b.at - a.at).slice(0, most);
  }
}

// described says a change in words.
function described(node, c) {
  if (c.event === "lost")
    return {
      kind: "lost",
      text: `Node ${node} lost the lease`,
      extra: `held for ${span(c.held_ms)}`,
      detail: c.detail,
    };
  const from = c.before && c.before !== node ? ` after node ${c.before}` : "";
  return { kind: "won", text: `Node ${node} gained the lease${from}`, detail: c.detail };
}

// timeline shows the changes. silent are the members of which nothing is known.
export function timeline(changes, silent) {
  const all = changes.list();
  return h(
    "section",
    { "aria-labelledby": "changes" },
    h("h2", { id: "changes" }, "Why the master changed"),
    all.length === 0 &&
      h(
        "p",
        { class: "quiet" },
        "No member has been master since it was started, and the page has seen no change.",
      ),
    h("ol", { class: "timeline" }, all.map(line)),
    h(
      "p",
      { class: "quiet" },
      "Each member records its own tenures until it is restarted, by its own clock. ",
      silent.length > 0 && `Not asked or without an answer: node ${silent.join(", node ")}.`,
    ),
  );
}

const line = (c) =>
  h(
    "li",
    { class: c.kind, key: `${c.node ?? ""} ${c.kind} ${c.at} ${c.text}` },
    h("time", { datetime: new Date(c.at).toISOString() }, time(c.at)),
    h(
      "p",
      {},
      h("strong", {}, c.text),
      c.extra && h("span", { class: "quiet" }, ` · ${c.extra}`),
      c.detail && h("span", { class: "quiet" }, ` · ${c.detail}`),
    ),
  );
