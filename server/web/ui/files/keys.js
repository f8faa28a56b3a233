// The part Keys: a tree by slashes, in pages, and a live watch of a prefix.
import { path } from "./api.js";
import { address } from "./app.js";
import { notice, read, unwritable } from "./asis.js";
import { counted, maxDeleted, remove, report } from "./deletion.js";
import { h } from "./dom.js";
import { choose, listing } from "./list.js";
import { barred, May, why } from "./may.js";
import { name } from "./names.js";
import { press, trouble, unseenIn } from "./parts.js";
import { exact, plural } from "./text.js";
import { Watch, watched } from "./watch.js";

const pageSize = 100;

export function open(app, params) {
  const prefix = params.get("p") ?? "";
  const me = {
    prefix,
    typed: "",
    start: params.get("s") ?? "",
    names: null,
    next: null,
    count: null,
    filtered: false,
    failure: null,
    watch: null,
    only: "",
    behind: null, // what was found behind this page: see list.js
    chosen: new Map(), // from a key to the revision at which it was chosen, and from a folder to null
    note: null,
  };
  me.may = new May(app, () => wants(me));

  async function list() {
    try {
      const query = { keys: true, details: true, separator: "/", limit: pageSize + 1, start: me.start || null };
      const last = await read(app, path("v1/kv/", prefix), query).catch(none);
      const { data, headers } = last;
      const names = data ?? [];
      Object.assign(me, {
        names: names.slice(0, pageSize),
        next: names[pageSize]?.Key ?? null,
        failure: null,
        filtered: headers?.get("X-Consul-Results-Filtered-By-Acls") === "true",
        last,
      });
    } catch (err) {
      me.failure = err;
    }
    app.draw();
  }

  async function count() {
    try {
      me.count = (await read(app, path("v1/kv/", prefix), { count: true })).data;
    } catch {
      me.count = null;
    }
    app.draw();
  }

  me.follow = () => {
    me.watch = me.watch
      ? me.watch.close()
      : new Watch(
          prefix,
          () => app.draw(),
          () => app.soon("keys"),
        );
    app.draw();
  };
  return {
    title: prefix ? exact(prefix) : "Keys",
    sources: [
      { name: "keys", every: 3000, ask: list },
      { name: "count", every: 15000, ask: count },
      me.may.source(),
    ],
    view: () => view(app, me),
    seen: (visible) => me.watch?.pause(!visible),
    close: () => me.watch?.close(),
  };
}

// wants are the permissions to delete what is chosen, as far as it is deleted at once: no more may be asked about.
const wants = (me) =>
  [...me.chosen].slice(0, maxDeleted).map(([key, revision]) => ["key", revision == null ? "write-prefix" : "write", key]);

// none takes "there is none" for an empty answer.
const none = (err) => {
  if (err.code === "not-found") return { data: null, asIs: err.asIs };
  throw err;
};

// crumbs are links to the prefixes of a key or prefix that end in a slash.
export function crumbs(key) {
  let sofar = "";
  const links = key
    .split("/")
    .slice(0, -1)
    .map((part) => {
      sofar += part + "/";
      return h("li", {}, h("a", { href: address("keys", { p: sofar }) }, name(part), "/"));
    });
  return h(
    "nav",
    { class: "crumbs", "aria-label": "Path" },
    h("ol", {}, h("li", {}, h("a", { href: "#keys" }, "all keys")), links),
  );
}

function view(app, me) {
  return [
    h("h1", { class: me.prefix && "key" }, me.prefix ? name(me.prefix) : "Keys"),
    crumbs(me.prefix),
    h(
      "form",
      { class: "row", onsubmit: (e) => goTo(app, e) },
      h(
        "label",
        { class: "grow" },
        h("span", {}, "Key or prefix"),
        h("input", {
          name: "name",
          class: "key",
          type: "text",
          autocomplete: "off",
          autocapitalize: "off",
          spellcheck: "false",
          placeholder: "app/config",
          value: me.typed,
          oninput: (e) => {
            me.typed = e.target.value;
            app.draw();
          },
        }),
      ),
      h("button", { name: "what", value: "keys" }, "List"),
      h("button", { name: "what", value: "key" }, "Open"),
    ),
    unseenIn("The name", me.typed),
    h(
      "div",
      { class: "row tools" },
      h("p", { class: "quiet" }, me.count == null ? "" : `${plural(me.count, "key")} here and below`),
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          checked: app.stale === true,
          onchange: (e) => {
            app.stale = e.target.checked;
            app.soon("keys");
          },
        }),
        "as this node has them",
      ),
      h("a", { class: "button", href: address("key", { k: me.prefix, n: "1" }) }, "New key"),
      h(
        "button",
        { type: "button", "aria-pressed": me.watch ? "true" : "false", onclick: me.follow },
        me.watch ? "Stop watching" : "Watch",
      ),
    ),
    notice(me.last),
    unwritable(app) && h("p", { class: "quiet" }, unwritable(app)),
    me.failure && trouble(me.failure, "see keys"),
    me.watch && watched(me.watch),
    report(me.note),
    me.names && [chosen(app, me), listing(app, me), pages(me)],
  ];
}

// chosen are the buttons about the keys that are chosen.
function chosen(app, me) {
  const n = me.chosen.size;
  return [
    n > 0 && why(app, me.may),
    h(
      "div",
      { class: "actions" },
      choose(app, me),
      n > 0 &&
        h(
          "button",
          { ...barred(app, me.may, press(app, me, () => drop(app, me))), class: "danger" },
          `Delete ${counted([...me.chosen])} …`,
        ),
    ),
    n > maxDeleted && h("p", { class: "quiet" }, `The first ${maxDeleted} of them are deleted at once.`),
  ];
}

// drop deletes what is chosen. Keys that somebody has changed stay, and are not chosen any more.
async function drop(app, me) {
  const result = await remove(me.chosen);
  if (!result) return;
  me.note = result.note;
  if (result.done) Object.assign(me, { behind: null, chosen: new Map([...me.chosen].slice(maxDeleted)) });
  for (const key of result.changed) me.chosen.delete(key);
  app.soon("keys");
  app.soon("count");
}

function goTo(app, e) {
  e.preventDefault();
  const wanted = e.target.elements.namedItem("name").value;
  if (e.submitter?.value === "key" && wanted) app.go("key", { k: wanted });
  else app.go("keys", { p: wanted });
}

const pages = (me) => [
  me.filtered && h("p", { class: "quiet" }, "Keys that the token may not read are left out."),
  h(
    "nav",
    { class: "pages", "aria-label": "Pages" },
    me.start && h("a", { class: "button", href: address("keys", { p: me.prefix }) }, "First page"),
    me.next && h("a", { class: "button", href: address("keys", { p: me.prefix, s: me.next }) }, "Next page"),
  ),
];
