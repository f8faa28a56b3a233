// A member, what can be done with it, and the operations that change the members.
import { command } from "./api.js";
import { confirm, h } from "./dom.js";
import { hears, masterOf } from "./heard.js";
import { outcome, press } from "./parts.js";
import { bytes, group, plural, span } from "./text.js";
import { confirmTyped } from "./typed.js";

// row is a member in the list.
export function row(app, me, m) {
  const s = app.status;
  const self = m.node === s.node;
  const heard = self || hears(m);
  const master = m.node === masterOf(s);
  const role = master ? "master" : !m.voter ? (m.spare ? "spare" : "non-voter") : "follower";
  const known = m.connected || m.applied > 0;
  return h(
    "li",
    { key: m.node, class: master ? "master" : heard ? "" : "gone" },
    h(
      "div",
      { class: "who" },
      h("h3", {}, `Node ${m.node}`),
      m.name && m.name !== `node-${m.node}` && h("span", { class: "name" }, m.name),
      h("span", { class: "role" }, heard ? role : m.connected ? "silent" : "not connected"),
      drained(app, me, m) && h("span", { class: "role" }, "drained"),
      self ? h("span", { class: "quiet" }, "this node") : m.client_address && link(m),
    ),
    h(
      "dl",
      {},
      fact("Applied", known ? group(m.applied) : "–"),
      fact("Lag", known ? (m.lag > 0 ? plural(m.lag, "slot") : "none") : "–"),
      fact("Heard", self ? "–" : m.last_heard_ms < 0 ? "never" : `${span(m.last_heard_ms)} ago`),
      fact("Clients", m.client_address || "–"),
      ...told(app, me, m).map(([k, v]) => fact(k, v ?? h("span", { class: "quiet" }, "not known"))),
    ),
    m.snapshot && snapshot(m.snapshot),
    me.list && !app.failure && h("div", { class: "actions" }, actions(app, me, m, master)),
  );
}

const fact = (k, v) => h("div", {}, h("dt", {}, k), h("dd", {}, v));

// told are the version and the disk of a member: this node's own from its status, of others what they have told it.
function told(app, me, m) {
  const s = app.status;
  const r = m.node === s.node ? s : me.reports.find((x) => x.node === m.node);
  const d = r?.disk;
  return [
    ["Version", r?.version],
    ["Disk", d && `${bytes(d.log_bytes + d.state_bytes)} used, ${bytes(d.free_bytes)} free`],
  ];
}

const link = (m) =>
  h(
    "a",
    { href: `${location.protocol}//${m.client_address}/ui/`, "aria-label": `open its page: node ${m.node}` },
    "open its page",
  );

function snapshot(x) {
  const text = x.installing
    ? "A copy of the state is being put in place"
    : `Receives a copy of the state from node ${x.from}: ${bytes(x.bytes)}` +
      (x.total_bytes ? ` of about ${bytes(x.total_bytes)}` : "");
  return h(
    "div",
    { class: "copy" },
    h("p", {}, text),
    x.total_bytes > 0 &&
      h("progress", {
        max: x.total_bytes,
        value: Math.min(x.bytes, x.total_bytes),
        "aria-label": "Copy of the state",
      }),
  );
}

function actions(app, me, m, master) {
  const button = (text, title, work) =>
    h("button", { ...press(app, me, work), class: "quiet", "aria-label": `${title} node ${m.node}` }, text);
  const list = [];
  if (m.voter && !master && m.connected && masterOf(app.status))
    list.push(button("Make master", "Make master of", () => transfer(app, me, m)));
  if (m.voter && m.connected && drained(app, me, m))
    list.push(button("End drain", "End drain of", () => drain(app, me, m, true)));
  else if (m.voter && m.connected) list.push(button("Drain", "Drain", () => drain(app, me, m, false)));
  if (!m.voter) list.push(button("Promote", "Promote", () => plan(app, me, m, "promote")));
  if (m.voter) list.push(button("Replace", "Replace", () => plan(app, me, m, "replace")));
  list.push(
    h(
      "button",
      {
        ...press(app, me, () => plan(app, me, m, "remove")),
        class: "quiet danger apart",
        "aria-label": `Remove node ${m.node}`,
      },
      "Remove",
    ),
  );
  return list;
}

// drained reports whether a member is drained, as far as is known here: of other nodes, what they have told, and what
// this page has done.
export const drained = (app, me, m) =>
  m.draining ||
  (m.node !== app.status.node &&
    (app.drained.has(m.node) || me.reports.some((r) => r.node === m.node && r.draining)));

// tell runs a command of an operator and says what came of it.
async function tell(app, me, done, work) {
  try {
    const answer = await work();
    me.note = { kind: "good", text: done(answer) };
  } catch (err) {
    me.note = outcome(err);
  }
  app.soon("members");
}

async function transfer(app, me, m) {
  const sure = await confirm(
    `Make node ${m.node} master?`,
    [
      h(
        "p",
        {},
        "The master finishes what is in flight, hands over and stays up. Clients see a pause of milliseconds.",
      ),
    ],
    "Hand over",
  );
  if (sure) {
    await tell(
      app,
      me,
      () => `The master was asked to hand over to node ${m.node}.`,
      () => command("v1/master/transfer", { Node: m.node }),
    );
  }
}

async function drain(app, me, m, off) {
  if (off) {
    const ended = () => {
      app.drained.delete(m.node);
      for (const r of me.reports) if (r.node === m.node) r.draining = false; // until it tells again
      return `The drain of node ${m.node} has ended.`;
    };
    await tell(app, me, ended, () => command("v1/members/drain", { node: m.node, off: true }));
    return;
  }
  const sure = await confirm(
    `Drain node ${m.node}?`,
    [
      h(
        "p",
        {},
        "It hands mastership over, does not become master again, and tells load balancers to send it no new clients. " +
          "It goes on to follow the log and to vote. A restart of the node ends the drain.",
      ),
    ],
    "Drain",
  );
  const begun = () => {
    app.drained.add(m.node);
    return `Node ${m.node} is drained.`;
  };
  if (sure) await tell(app, me, begun, () => command("v1/members/drain", { node: m.node }));
}

const titles = { remove: "Remove", replace: "Replace", promote: "Promote" };

// plan shows what a change would do, and begins it if the person wants that.
async function plan(app, me, m, kind) {
  let answer;
  try {
    answer = (await command(`v1/members/${kind}`, { node: m.node, dry_run: true })).data;
  } catch (err) {
    me.note = outcome(err);
    return;
  }
  const question = `${titles[kind]} node ${m.node}?`;
  const shown = steps(answer);
  const sure =
    kind === "remove"
      ? await confirmTyped(question, shown, titles[kind], m.name || `node-${m.node}`)
      : await confirm(question, shown, titles[kind], kind !== "promote");
  if (!sure) return;
  const operation =
    "ui-" + Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
  await tell(
    app,
    me,
    (x) => `The operation ${x.data.id} has begun.`,
    () => command(`v1/members/${kind}`, { node: m.node, operation }),
  );
}

// steps shows what a change would do, and how many voters may fail meanwhile.
function steps(answer) {
  return [
    h(
      "ol",
      { class: "steps" },
      answer.steps.map((step) => h("li", {}, step)),
    ),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["", "voters", "alive", "may fail"].map((x) => h(x ? "th" : "td", x ? { scope: "col" } : {}, x)),
        ),
      ),
      h(
        "tbody",
        {},
        [
          ["before", answer.before],
          ["meanwhile", answer.meanwhile],
          ["after", answer.after],
        ].map(([when, t]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, when),
            h("td", {}, String(t.voters)),
            h("td", {}, String(t.alive)),
            h("td", { class: t.failures < 0 ? "bad" : "" }, t.failures < 0 ? "no majority" : String(t.failures)),
          ),
        ),
      ),
    ),
  ];
}

// operations lists what runs, and the last that have ended.
export function operations(app, me) {
  const list = me.list.operations;
  if (list.length === 0) return null;
  return h(
    "section",
    { "aria-labelledby": "operations" },
    h("h2", { id: "operations" }, "Operations"),
    h(
      "ul",
      { class: "list" },
      list.slice(0, 10).map((o) => operation(app, me, o)),
    ),
  );
}

function operation(app, me, o) {
  const what = [o.kind, " ", h("bdi", {}, o.name ?? `node ${o.node}`), o.by ? ` by node ${o.by}` : ""];
  const joining = me.list.members.find((m) => (m.node === o.by || m.node === o.node) && m.snapshot)?.snapshot;
  return h(
    "li",
    { key: o.id, class: o.state },
    h("p", {}, h("strong", {}, what), h("span", { class: "role" }, o.state), h("code", { class: "quiet" }, o.id)),
    o.step && h("p", { class: "quiet" }, o.step, o.wait_ms > 0 && ` About ${span(o.wait_ms)} are left.`),
    o.problem && h("p", { class: "bad" }, o.problem),
    o.state === "running" && joining && snapshot(joining),
    o.state === "running" &&
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          {
            ...press(app, me, () =>
              tell(
                app,
                me,
                () => "The operation is cancelled.",
                () => command("v1/members/cancel", { operation: o.id }),
              ),
            ),
            class: "quiet",
          },
          "Cancel",
        ),
      ),
  );
}
