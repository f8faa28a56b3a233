// The part Cluster: the lease, the members, what runs, and why the master changed.
import { get } from "./api.js";
import { h } from "./dom.js";
import { operations, row } from "./members.js";
import { denial } from "./parts.js";
import { ago, bytes, group, plural, sentence, span, time } from "./text.js";

export const maxLooks = 60; // answers about the lease that are shown

export function open(app) {
  const me = { list: null, failure: null, note: null };
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
  return {
    title: "Cluster",
    sources: [{ name: "members", every: 3000, ask: members }],
    view: () => (app.status ? view(app, me) : waiting(app)),
  };
}

const waiting = (app) => [h("h1", {}, app.failure ? "The node does not answer" : "Asking the node …")];

function view(app, me) {
  const s = app.status;
  const list = me.list ?? fromStatus(s);
  return [
    h("h1", {}, app.failure ? `Node ${s.node} does not answer` : headline(s)),
    !app.failure && problems(s, list),
    lease(app),
    h(
      "section",
      { "aria-labelledby": "members" },
      h("h2", { id: "members" }, "Members"),
      me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text),
      h(
        "ul",
        { class: "members" },
        list.members.map((m) => row(app, me, m)),
      ),
      me.failure?.denied && denial(me.failure, "see and change the members"),
    ),
    me.list && operations(app, me),
    thisNode(s),
    timeline(app),
  ];
}

// fromStatus makes a list of members of what /v1/status says, for those who may not have the list itself.
function fromStatus(s) {
  const self = {
    node: s.node,
    name: s.name ?? `node-${s.node}`,
    voter: votes(s),
    connected: true,
    applied: s.applied,
    lag: s.chosen - s.applied,
    last_heard_ms: 0,
    draining: s.draining,
    snapshot: s.snapshot,
    client_address: "",
  };
  const others = s.peers.map((p) => ({
    node: p.node,
    name: p.name,
    voter: !p.non_voter,
    connected: p.connected,
    applied: p.chosen,
    lag: Math.max(0, s.chosen - p.chosen),
    last_heard_ms: p.last_heard_ms,
    client_address: p.client_address,
  }));
  return { members: [self, ...others].sort((a, b) => a.node - b.node), operations: [], removed: [] };
}

const votes = (s) => s.role !== "non-voter" && s.role !== "none";

// heard returns how many voters this node hears, itself included, and how many there are.
function heard(s) {
  const voters = s.peers.filter((p) => !p.non_voter);
  const self = votes(s) ? 1 : 0;
  return [self + voters.filter((p) => p.connected).length, self + voters.length];
}

// whyNoMaster says it in words, as far as this node knows.
export function whyNoMaster(s) {
  const [n, of] = heard(s);
  if (2 * n <= of) {
    const heard = `This node hears ${n} of ${of} voters, and that is no majority: nothing can be written.`;
    return `${heard} Keys can be read as this node has them.`;
  }
  if (s.lease.quarantine_ms > 0) {
    return `This node was restarted, and takes no part in an election for another ${span(s.lease.quarantine_ms)}.`;
  }
  if (s.draining) return "This node is drained. If all are, there is none until a drain ends.";
  return `This node hears ${n} of ${of} voters. An election takes about as long as a lease.`;
}

function headline(s) {
  if (s.role === "none") return "This node takes no part in a cluster";
  if (!s.master) return "No master";
  const name = s.master === s.node ? s.name : s.peers.find((p) => p.node === s.master)?.name;
  const usual = !name || name === `node-${s.master}`;
  return [`Node ${s.master} is master`, !usual && h("span", { class: "quiet" }, ` ${name}`)];
}

// problems lists in words what is not as it should be.
function problems(s, list) {
  const all = [];
  if (s.problem) all.push(sentence(s.problem));
  const [n, of] = heard(s);
  if (s.master && 2 * n <= of) all.push(`This node hears ${n} of ${of} voters, and that is no majority.`);
  for (const m of list.members) {
    if (!m.connected) {
      const how = m.last_heard_ms < 0 ? "was never heard" : `was last heard ${span(m.last_heard_ms)} ago`;
      all.push(`Node ${m.node} is not connected; it ${how} by this node.`);
    }
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

// lease is how much of the master lease was left at each look.
function lease(app) {
  const s = app.status,
    l = s.lease;
  const full = l.time_ms || Math.max(1, ...app.looks.map((x) => x.left ?? 0));
  const share = (left) => `${Math.min(100, (100 * (left ?? 0)) / full)}%`;
  const from = `${100 - (100 * app.looks.length) / maxLooks}%`;
  const left = app.failure ? 0 : l.remaining_ms;
  const lefts = app.looks.filter((x) => x.left != null && x.master).map((x) => x.left);
  const range = lefts.length ? `from ${Math.min(...lefts)} to ${Math.max(...lefts)} ms` : "none";
  return h(
    "section",
    { class: "lease", "aria-labelledby": "lease" },
    h("h2", { id: "lease" }, "Master lease"),
    h(
      "div",
      {
        class: "meter",
        role: "meter",
        "aria-labelledby": "lease",
        "aria-valuemin": 0,
        "aria-valuemax": full,
        "aria-valuenow": left,
        "aria-valuetext": `${left} of ${full} ms left`,
      },
      h("span", { vars: { "--share": share(left) } }),
    ),
    h(
      "p",
      { class: "figures" },
      app.failure
        ? "not known"
        : [
            h("strong", {}, `${group(left)} ms`),
            ` of ${group(full)} ms left `,
            h(
              "span",
              { class: "quiet" },
              l.held ? "as its holder counts" : "as this node has heard",
              s.epoch ? ` · epoch ${group(s.epoch)}` : "",
            ),
          ],
    ),
    h(
      "div",
      {
        class: "strip",
        role: "img",
        "aria-label": `Lease left at the last ${plural(app.looks.length, "look")}: ${range}`,
      },
      app.looks.toReversed().map((x) =>
        h("span", {
          class: x.left == null ? "mute" : x.master ? "" : "none",
          vars: { "--share": x.left == null || !x.master ? "100%" : share(x.left) },
        }),
      ),
    ),
    h(
      "p",
      { class: "legend quiet" },
      h("span", { vars: { "--from": from } }, app.looks.length >= maxLooks / 4 && ago(app.looks[0].at)),
      h("span", {}, "now"),
    ),
  );
}

// thisNode is what only the node itself tells.
function thisNode(s) {
  const items = [
    ["Role", s.role + (s.draining ? ", drained" : "")],
    ["Version", s.version],
    ["Running for", span(s.uptime_ms)],
    ["Revision", group(s.revision)],
    ["Log: chosen", group(s.chosen)],
    ["Log: applied", group(s.applied)],
    ["Log: checkpointed", group(s.checkpointed)],
    ["Log: truncated", group(s.truncated)],
    ["Disk: log", bytes(s.disk.log_bytes)],
    ["Disk: state", bytes(s.disk.state_bytes)],
    ["Disk: free", bytes(s.disk.free_bytes)],
    s.disk.quota_bytes > 0 && ["Disk: quota", bytes(s.disk.quota_bytes)],
    ["Named leases", group(s.leases.records)],
    ["Waiting for leases", plural(s.leases.waiting, "request")],
    ["Guardian", s.guardian.pid ? `process ${s.guardian.pid}` : (s.guardian.problem ?? "none")],
    ["Feature level", group(s.feature_level)],
  ];
  return h(
    "section",
    { "aria-labelledby": "node" },
    h("h2", { id: "node" }, `This node`),
    h(
      "dl",
      { class: "facts" },
      items.filter(Boolean).map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))),
    ),
  );
}

// timeline is why the master changed: what this node has recorded of its own tenures, and what the page has seen.
function timeline(app) {
  const own = (app.status.lease.changes ?? []).map((c) => ({
    at: Date.parse(c.time),
    kind: c.event,
    text: c.event === "won" ? "This node won the lease" : "This node lost the lease",
    detail: c.detail,
    extra:
      c.event === "lost"
        ? `held for ${span(c.held_ms)}`
        : c.ownerless_ms > 0
          ? `nobody owned it for about ${span(c.ownerless_ms)}`
          : "",
  }));
  const told = (x) =>
    x.master === app.status.node && own.some((c) => c.kind === "won" && Math.abs(c.at - x.at) < 10000);
  const all = [
    ...own,
    ...app.seen.filter((x) => !told(x)).map((x) => ({ ...x, kind: "seen", detail: "seen by this page" })),
  ].sort((a, b) => b.at - a.at);
  const others = app.otherNodes();
  return h(
    "section",
    { "aria-labelledby": "changes" },
    h("h2", { id: "changes" }, "Why the master changed"),
    all.length === 0 &&
      h(
        "p",
        { class: "quiet" },
        "This node has not been master since it was started, and the page has seen no change.",
      ),
    h(
      "ol",
      { class: "timeline" },
      all.map((c) =>
        h(
          "li",
          { class: c.kind, key: c.kind + c.at + c.text },
          h("time", { datetime: new Date(c.at).toISOString() }, time(c.at)),
          h(
            "div",
            {},
            h("p", {}, h("strong", {}, c.text), c.extra && h("span", { class: "quiet" }, ` · ${c.extra}`)),
            c.detail && h("p", { class: "quiet" }, c.detail),
          ),
        ),
      ),
    ),
    others.length > 0 &&
      h(
        "p",
        { class: "quiet" },
        "Each node records its own tenures. See also ",
        others.map((o, i) => [i > 0 && ", ", h("a", { href: o.href }, `node ${o.node}`)]),
        ".",
      ),
  );
}
