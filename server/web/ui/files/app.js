// The page as a whole: which part of it is shown, the state of the node on top, and what is asked for them.
import { Failure, status as askStatus, hasToken } from "./api.js";
import { h, patch, title } from "./dom.js";
import { masterOf } from "./heard.js";
import { maxLooks } from "./lease.js";
import { Poll } from "./poll.js";
import { Changes } from "./timeline.js";
import { time } from "./text.js";
import { onNavigation } from "./unsaved.js";
import * as access from "./access.js";
import * as backup from "./backup.js";
import * as cluster from "./cluster.js";
import * as keys from "./keys.js";
import * as locks from "./locks.js";
import * as policies from "./policies.js";
import * as token from "./token.js";
import * as tokens from "./tokens.js";
import * as value from "./value.js";

const parts = { cluster, keys, key: value, locks, backup, access };
Object.assign(parts, { tokens, token, policies, policy: policies });
const under = { key: "keys", tokens: "access", token: "access", policies: "access", policy: "access" }; // in the menu
const tabs = [
  ["cluster", "Cluster"],
  ["keys", "Keys"],
  ["locks", "Locks"],
  ["backup", "Backup"],
];

// app is what the parts share. Each part has open(app, params), which returns {title, sources, view, close}.
const app = {
  status: null, // the last answer
  failure: null, // why there was none since
  since: 0, // of the failure
  at: 0, // when the last answer came
  looks: [], // {at, left, full, master}, or {at} without an answer, for each time that the node was asked
  drained: new Set(), // the nodes that this page has drained
  changes: new Changes(), // of the master
  draw,
  go: (part, params) => {
    location.hash = address(part, params);
  },
  soon: (name) => poll.soon(name),
  use: () => poll.use([statusSource(), ...shown.sources]),
};

// address returns the fragment that leads to a part.
export function address(part, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== "" && v != null)).toString();
  return "#" + part + (query && "?" + query);
}

const poll = new Poll();
let shown = { title: "", sources: [], view: () => [] };
let name = "";

// The status has a lane of its own: no other question holds it up.
const statusSource = () => ({
  name: "status",
  lane: "status",
  keep: true,
  every: name === "cluster" ? 1000 : 3000,
  urgent: () => masterless(), // the next master comes soon
  ask: look,
});

// masterless reports whether the node, which takes part in a cluster, hears no master.
const masterless = () => !app.failure && app.status && app.status.role !== "none" && !masterOf(app.status);

async function look() {
  try {
    const s = await askStatus();
    if (app.changes.look(app.status, s)) poll.soon("reports"); // the members tell why
    app.changes.take(s.node, s.lease.changes ?? []);
    Object.assign(app, { status: s, failure: null, at: Date.now() });
    app.looks.push({ at: Date.now(), left: s.lease.remaining_ms, full: s.lease.time_ms, master: s.master });
  } catch (err) {
    if (!(err instanceof Failure)) throw err;
    if (!app.failure) app.since = Date.now();
    app.failure = err;
    app.looks.push({ at: Date.now() });
  }
  app.looks.splice(0, app.looks.length - maxLooks);
  draw();
}

// otherNodes returns the pages of the other members, as far as their addresses are known.
function otherNodes() {
  return (app.status?.peers ?? [])
    .filter((p) => p.client_address)
    .map((p) => ({ node: p.node, name: p.name, href: `${location.protocol}//${p.client_address}/ui/` }));
}

function open() {
  const [wanted, query] = location.hash.slice(1).split(/\?(.*)/s);
  const next = parts[wanted] ? wanted : "cluster";
  shown.close?.();
  name = next;
  shown = parts[name].open(app, new URLSearchParams(query ?? ""));
  app.use();
  draw();
  window.scrollTo(0, 0);
}

function draw() {
  title(`${shown.title} – Tenure${app.status ? ` node ${app.status.node}` : ""}`);
  patch(document.getElementById("head"), head());
  const main = document.getElementById("main");
  main.classList.toggle("stale", app.failure != null);
  patch(main, [
    h("div", { class: "alerts", role: "status", key: "alerts" }, alerts()),
    h("div", { key: name + location.hash, class: "part" }, shown.view()),
  ]);
  patch(document.getElementById("foot"), foot());
}

function head() {
  const current = under[name] ?? name;
  const all = app.status?.acl || hasToken() ? [...tabs, ["access", hasToken() ? "Token" : "Log in"]] : tabs;
  return [
    h(
      "div",
      { class: "bar" },
      h("a", { class: "brand", href: "#cluster" }, h("span", { class: "mark", "aria-hidden": "true" }), "Tenure"),
      h(
        "nav",
        { "aria-label": "Parts" },
        all.map(([part, text]) => h("a", { href: "#" + part, "aria-current": part === current && "page" }, text)),
      ),
      state(),
    ),
  ];
}

// state is the state of the cluster in two words.
function state() {
  const s = app.status;
  const [kind, text] = app.failure
    ? ["bad", "No answer"]
    : !s
      ? ["", "…"]
      : s.role === "none"
        ? ["bad", "Takes no part"]
        : masterOf(s)
          ? ["good", `Master: node ${masterOf(s)}`]
          : ["bad", "No master"];
  return h("p", { class: "state " + kind }, h("span", { class: "dot", "aria-hidden": "true" }), text);
}

function alerts() {
  const s = app.status;
  if (app.failure) {
    const others = otherNodes();
    return h(
      "div",
      { class: "alert bad" },
      h(
        "p",
        {},
        h("strong", {}, app.failure.code === "unreachable" ? "The node does not answer" : "The node refuses"),
        ` since ${time(app.since)}. ${app.failure.code === "unreachable" ? "It is asked again." : app.failure.message}`,
      ),
      s && h("p", {}, `What is shown below is from ${time(app.at)}.`),
      others.length > 0 &&
        h(
          "p",
          {},
          "Ask another one: ",
          others.map((o, i) => [i > 0 && ", ", h("a", { href: o.href }, `node ${o.node}`)]),
        ),
    );
  }
  if (masterless()) {
    return h(
      "div",
      { class: "alert bad" },
      h("p", {}, h("strong", {}, "There is no master. "), cluster.whyNoMaster(s)),
    );
  }
  return [];
}

function foot() {
  const s = app.status;
  if (!s) return [];
  return [
    h(
      "p",
      {},
      `Node ${s.node}`,
      s.name && [" (", h("bdi", {}, s.name), ")"],
      ` · version ${s.version} · cluster `,
      h("code", {}, s.cluster.slice(0, 8)),
    ),
    h("p", {}, h("a", { href: "../v1/openapi.json" }, "API"), " · ", h("a", { href: "../metrics" }, "Metrics")),
  ];
}

document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault();
  document.getElementById("main").focus();
});
onNavigation(
  () => shown,
  () => {
    open();
    document.getElementById("main").focus({ preventScroll: true });
  },
);
document.addEventListener("visibilitychange", () => shown.seen?.(!document.hidden));
open();
