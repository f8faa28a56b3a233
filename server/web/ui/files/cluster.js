// The part Cluster: the lease, the members, what runs, and why the master changed.
import { get } from "./api.js";
import { charts } from "./charts.js";
import { h } from "./dom.js";
import { hears, masterOf, membersNow, voters } from "./heard.js";
import { lease } from "./lease.js";
import { operations, row } from "./members.js";
import { thisNode } from "./node.js";
import { denial } from "./parts.js";
import { timeline } from "./timeline.js";
import { sentence, span } from "./text.js";

const rarely = "rarely"; // the lane of what is asked less often than the status

export function open(app) {
  const me = { list: null, failure: null, note: null, history: null, historyAt: 0, reports: [] };
  async function members() {
    try {
      me.list = (await get("v1/members")).data;
      me.failure = null;
    } catch (err) {
      if (err.denied) me.list = null;
      me.failure = err;
    }
    app.draw();
  }
  // An answer that does not come leaves what there is: whether the node answers is told by its status.
  async function history() {
    const answer = await get("v1/history").catch(() => null);
    if (answer) Object.assign(me, { history: answer.data, historyAt: Date.now() });
  }
  async function reports() {
    const answer = await get("v1/reports").catch(() => null);
    if (!answer) return;
    me.reports = answer.data.reports;
    for (const r of me.reports) app.changes.take(r.node, r.changes);
    app.draw();
  }
  return {
    title: "Cluster",
    sources: [
      { name: "members", lane: rarely, every: 5000, ask: members },
      { name: "reports", lane: rarely, every: 5000, ask: reports },
      { name: "history", lane: rarely, every: 10000, ask: history },
    ],
    view: () => (app.status ? view(app, me) : waiting(app)),
  };
}

const waiting = (app) => [h("h1", {}, app.failure ? "The node does not answer" : "Asking the node …")];

function view(app, me) {
  const s = app.status;
  const members = membersNow(me.list?.members, s);
  return [
    h("h1", {}, app.failure ? `Node ${s.node} does not answer` : headline(s)),
    !app.failure && problems(s, members),
    lease(app),
    h(
      "section",
      { "aria-labelledby": "members" },
      h("h2", { id: "members" }, "Members"),
      me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text),
      h(
        "ul",
        { class: "members" },
        members.map((m) => row(app, me, m)),
      ),
      me.failure?.denied && denial(me.failure, "see and change the members"),
    ),
    me.list && operations(app, me),
    charts(me.history, me.historyAt),
    thisNode(s),
    timeline(app.changes, silent(me, s)),
  ];
}

// silent are the members that have not told of themselves when they were last asked.
const silent = (me, s) =>
  s.peers.map((p) => p.node).filter((n) => !me.reports.some((r) => r.node === n && !r.problem));

// whyNoMaster says it in words, as far as this node knows.
export function whyNoMaster(s) {
  const [n, of] = voters(s);
  if (2 * n <= of) {
    const few = `This node hears ${n} of ${of} voters, and that is no majority: nothing can be written.`;
    return `${few} Keys can be read as this node has them.`;
  }
  if (s.lease.quarantine_ms > 0) {
    return `This node was restarted, and takes no part in an election for another ${span(s.lease.quarantine_ms)}.`;
  }
  if (s.draining) return "This node is drained. If all are, there is none until a drain ends.";
  return `This node hears ${n} of ${of} voters. An election takes about as long as a lease.`;
}

function headline(s) {
  if (s.role === "none") return "This node takes no part in a cluster";
  if (!masterOf(s)) return s.master ? `Node ${s.master} was master, and is not heard` : "No master";
  const name = s.master === s.node ? s.name : s.peers.find((p) => p.node === s.master)?.name;
  const usual = !name || name === `node-${s.master}`;
  return [`Node ${s.master} is master`, !usual && h("span", { class: "quiet" }, ` ${name}`)];
}

// problems lists in words what is not as it should be.
function problems(s, members) {
  const all = [];
  if (s.problem) all.push(sentence(s.problem));
  const [n, of] = voters(s);
  if (masterOf(s) && 2 * n <= of) all.push(`This node hears ${n} of ${of} voters, and that is no majority.`);
  for (const m of members) {
    if (m.node !== s.node && !hears(m)) all.push(unheard(m));
    if (m.draining) all.push(`Node ${m.node} is drained: it takes no new clients and does not become master.`);
  }
  for (const p of s.peers) if (p.problem) all.push(sentence(p.problem));
  for (const id of s.full ?? []) all.push(`The disk of node ${id} is short of space.`);
  if (s.guardian.problem) all.push(sentence(`This node has no guardian: ${s.guardian.problem}`));
  if (s.standing_back_ms > 0)
    all.push(`This node makes way for others as master for another ${span(s.standing_back_ms)}.`);
  if (s.archive?.problem) all.push(sentence(`The archive: ${s.archive.problem}`));
  if (all.length === 0)
    return h(
      "p",
      { class: "lead" },
      `${n === 1 ? "The only voter is" : `All ${of} voters are`} heard, and this node knows of no problem.`,
    );
  return h(
    "ul",
    { class: "problems" },
    all.slice(0, 12).map((text) => h("li", {}, text)),
  );
}

function unheard(m) {
  const how = m.last_heard_ms < 0 ? "was never heard" : `was last heard ${span(m.last_heard_ms)} ago`;
  return `Node ${m.node} is ${m.connected ? "connected, but silent" : "not connected"}; it ${how} by this node.`;
}
