// The part Locks: sessions with the keys that they have locked, and leases.
import { get, path, write } from "./api.js";
import { address } from "./app.js";
import { notice, read } from "./asis.js";
import { confirm, h } from "./dom.js";
import { barredFor, May, whyFor, whyNot } from "./may.js";
import { name } from "./names.js";
import { outcome, press, trouble } from "./parts.js";
import { exact, group, milliseconds, plural, span } from "./text.js";

const maxSessions = 200; // that are shown
const leasePage = 200;
const maxNodes = 100; // whose sessions the node is asked about

// toEnd is the permission to end a session of a node.
const toEnd = (node) => ["session", "write", node];

export function open(app) {
  const me = { sessions: null, leases: null, failures: {}, filter: "", start: "", note: null };
  me.may = new May(app, () => [...new Set((me.sessions ?? []).map((s) => s.Node))].slice(0, maxNodes).map(toEnd));
  async function sessions() {
    try {
      me.last = await read(app, "v1/session/list", { details: true });
      me.sessions = me.last.data;
      me.failures.sessions = null;
    } catch (err) {
      me.failures.sessions = err;
    }
    app.draw();
  }
  async function leases() {
    try {
      me.leases = {
        ...(await get("v1/leases", { limit: leasePage, start: me.start || null })).data,
        at: Date.now(),
      };
      me.failures.leases = null;
    } catch (err) {
      me.failures.leases = err;
    }
    app.draw();
  }
  return {
    title: "Locks",
    sources: [
      { name: "sessions", every: 2000, ask: sessions },
      { name: "leases", every: 2000, ask: leases },
      me.may.source(),
    ],
    view: () => [
      h("h1", {}, "Locks, sessions and leases"),
      notice(me.last),
      whyNot(app),
      sessionsView(app, me),
      leasesView(app, me),
    ],
  };
}

function sessionsView(app, me) {
  const list = (me.sessions ?? []).filter((s) =>
    [s.ID, s.Name, s.Node, ...(s.Keys ?? [])].some((x) => x.includes(me.filter)),
  );
  return h(
    "section",
    { "aria-labelledby": "sessions" },
    h(
      "h2",
      { id: "sessions" },
      "Sessions",
      me.sessions && h("span", { class: "count" }, group(me.sessions.length)),
    ),
    h(
      "p",
      { class: "quiet" },
      "A session is replicated. The keys that it has locked are released, or deleted, when it ends.",
    ),
    me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text),
    me.failures.sessions && trouble(me.failures.sessions, "see sessions"),
    me.sessions?.length > 5 &&
      h(
        "label",
        { class: "grow" },
        h("span", {}, "Only those with"),
        h("input", {
          type: "text",
          value: me.filter,
          oninput: (e) => {
            me.filter = e.target.value;
            app.draw();
          },
        }),
      ),
    me.sessions && list.length === 0 && h("p", { class: "empty" }, "There is none."),
    h(
      "ul",
      { class: "list" },
      list.slice(0, maxSessions).map((s) => session(app, me, s)),
    ),
    list.length > maxSessions &&
      h("p", { class: "quiet" }, `The first ${maxSessions} of ${plural(list.length, "session")}.`),
  );
}

function session(app, me, s) {
  const held = Number(s.Held ?? 0);
  return h(
    "li",
    { key: s.ID },
    h(
      "p",
      {},
      h("strong", {}, s.Name ? name(s.Name) : "(no name)"),
      h("span", { class: "quiet" }, " on ", h("bdi", {}, name(s.Node))),
      h("code", { class: "quiet" }, s.ID),
    ),
    timeLeft(s),
    held > 0
      ? h(
          "ul",
          { class: "held", "aria-label": "Keys that it has locked" },
          s.Keys.map((k) => h("li", {}, h("a", { href: address("key", { k }) }, name(k)))),
          held > s.Keys.length && h("li", { class: "quiet" }, `and ${group(held - s.Keys.length)} more`),
        )
      : h("p", { class: "quiet" }, "It has locked no key."),
    h(
      "div",
      { class: "actions" },
      h(
        "button",
        {
          ...barredFor(app, me.may, toEnd(s.Node), `need-${s.ID}`, press(app, me, () => end(app, me, s, held))),
          class: "quiet danger",
          "aria-label": `End session ${exact(s.Name || s.ID)}`,
        },
        "End session",
      ),
    ),
    whyFor(me.may, toEnd(s.Node), `need-${s.ID}`),
  );
}

// timeLeft is how long the session lasts unless it is renewed: up to twice its TTL.
function timeLeft(s) {
  if (!s.ExpiresIn) return h("p", { class: "quiet" }, "It has no TTL, and ends only when it is ended.");
  const left = milliseconds(s.ExpiresIn),
    ttl = milliseconds(s.TTL);
  return h(
    "div",
    { class: "left" },
    h(
      "div",
      { class: "thin", "aria-hidden": "true" },
      h("span", { vars: { "--share": `${Math.min(100, (50 * left) / ttl)}%` } }),
    ),
    h("p", {}, `ends in ${span(left)} `, h("span", { class: "quiet" }, `unless it is renewed · TTL ${span(ttl)}`)),
  );
}

async function end(app, me, s, held) {
  const fate =
    held === 0
      ? "It has locked no key."
      : `${plural(held, "key")} will be ${s.Behavior === "delete" ? "deleted" : "released"}; ` +
        `nobody acquires them for ${span(s.LockDelay / 1e6)}.`;
  const sure = await confirm(
    "End this session?",
    [
      h("p", {}, h("strong", {}, name(s.Name || s.ID)), " on ", h("bdi", {}, name(s.Node))),
      h("p", {}, fate),
      h(
        "p",
        { class: "quiet" },
        "Its owner is not asked, and may go on until it notices. Only a fence keeps its writes out.",
      ),
    ],
    "End session",
    true,
  );
  if (!sure) return;
  try {
    await write("PUT", path("v1/session/destroy/", s.ID));
    me.note = { kind: "good", text: "The session has ended." };
  } catch (err) {
    me.note = outcome(err);
  }
  app.soon("sessions");
}

function leasesView(app, me) {
  const l = me.leases;
  const turn = (start) => {
    me.start = start;
    app.soon("leases");
  };
  return h(
    "section",
    { "aria-labelledby": "leases" },
    h("h2", { id: "leases" }, "Leases"),
    h(
      "p",
      { class: "quiet" },
      "Leases are in the memory of a majority of the nodes. These are the ones that this node has recorded: a hint. ",
      "A lease ends when its owner releases it, or does not renew it.",
    ),
    me.failures.leases && trouble(me.failures.leases, "see leases"),
    l?.Silent &&
      h(
        "p",
        { class: "alert" },
        `This node was restarted: for another ${span(milliseconds(l.Silent))} it learns of no lease.`,
      ),
    l && l.Leases.length === 0 && h("p", { class: "empty" }, "This node knows of none."),
    h(
      "ul",
      { class: "list" },
      (l?.Leases ?? []).map((x) =>
        h(
          "li",
          { key: x.Name },
          h(
            "p",
            {},
            h("strong", {}, name(x.Name)),
            h("span", { class: "quiet" }, " owned by "),
            h("bdi", {}, name(x.Owner)),
          ),
          h(
            "p",
            {},
            `${span(milliseconds(x.Remaining))} left`,
            h("span", { class: "quiet" }, " · token "),
            h("code", {}, String(x.Token)),
          ),
        ),
      ),
    ),
    h(
      "div",
      { class: "pages" },
      me.start && h("button", { type: "button", onclick: () => turn("") }, "First page"),
      l?.Next && h("button", { type: "button", onclick: () => turn(l.Next) }, "Next page"),
    ),
  );
}
