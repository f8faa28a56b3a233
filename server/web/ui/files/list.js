// The list of keys: what there is about each besides its value, a filter, and which are chosen.
import { path } from "./api.js";
import { address } from "./app.js";
import { read } from "./asis.js";
import { h } from "./dom.js";
import { name } from "./names.js";
import { outcome, press } from "./parts.js";
import { bytes, exact, group, plural } from "./text.js";

const lookedThrough = 500; // names behind the page that one press looks through
const maxFound = 200; // of them that are shown

// fitting are the names that are shown: those of the page that have what is looked for, and those found behind it.
export function fitting(me) {
  const here = me.names.filter((k) => has(me, k));
  const there = new Set(here.map((k) => k.Key));
  return [...here, ...(me.behind?.found ?? []).filter((k) => !there.has(k.Key))];
}

const has = (me, k) => k.Key.slice(me.prefix.length).toLowerCase().includes(me.only.toLowerCase());

// listing shows a page of keys. me has names, prefix, only, behind, and chosen: a map from a key to the revision at
// which it was chosen, and from a folder to null.
export function listing(app, me) {
  if (me.names.length === 0) return h("p", { class: "empty" }, "No key begins with that.");
  const fits = fitting(me);
  return [
    me.names.length > 5 && filter(app, me, fits),
    fits.length === 0 && h("p", { class: "empty" }, "None of them has that."),
    h(
      "ul",
      { class: "names" },
      fits.map((k) => row(app, me, k)),
    ),
  ];
}

const filter = (app, me, fits) =>
  h(
    "div",
    { class: "row tools" },
    h(
      "label",
      { class: "grow" },
      h("span", {}, "Only those with"),
      h("input", {
        type: "text",
        value: me.only,
        autocomplete: "off",
        spellcheck: "false",
        oninput: (e) => {
          Object.assign(me, { only: e.target.value, behind: null });
          app.draw();
        },
      }),
    ),
    me.only && h("p", { class: "quiet", role: "status" }, looked(me, fits)),
    me.only && further(app, me),
  );

// looked says among how many names was looked, and whether there are more.
function looked(me, fits) {
  const among = plural(me.names.length + (me.behind?.looked ?? 0), "name");
  const all = me.start ? `${among} from this page on` : among;
  const where = next(me) ? `${among} looked through, and there are more` : all;
  const cut = me.behind?.cut ? `. Only ${maxFound} found behind this page are shown` : "";
  return `${group(fits.length)} of ${where}${cut}`;
}

// next is the name at which the look behind the page goes on; null at the end.
const next = (me) => (me.behind ? me.behind.next : me.next);

// further is the button that looks through more names of the folder: so many at a press, so that the node is never
// asked for more than one bounded listing.
function further(app, me) {
  if (!next(me) || me.behind?.cut) return null;
  return h("button", press(app, me, () => look(app, me)), `Look through ${group(lookedThrough)} more`);
}

async function look(app, me) {
  const { only } = me;
  const before = me.behind ?? { found: [], looked: 0 };
  const query = { keys: true, details: true, separator: "/", limit: lookedThrough + 1, start: next(me) };
  try {
    const names = (await read(app, path("v1/kv/", me.prefix), query)).data;
    if (me.only !== only) return; // something else is looked for by now
    const last = names.length > lookedThrough ? names.pop() : null; // there the next look begins
    const found = [...before.found, ...names.filter((k) => has(me, k))];
    me.behind = {
      found: found.slice(0, maxFound),
      cut: found.length > maxFound,
      looked: before.looked + names.length,
      next: last?.Key ?? null,
    };
  } catch (err) {
    if (err.code === "not-found") me.behind = { ...before, next: null };
    else me.note = outcome(err);
  }
}

const isFolder = (k) => k.Count != null;

function row(app, me, k) {
  const folder = isFolder(k);
  const shown = k.Key.slice(me.prefix.length) || k.Key;
  return h(
    "li",
    { key: k.Key, class: folder ? "below" : "" },
    h("a", { href: folder ? address("keys", { p: k.Key }) : address("key", { k: k.Key }) }, name(shown)),
    h("span", { class: "about" }, folder ? plural(k.Count, "key") : about(k)),
    h("input", {
      type: "checkbox",
      "aria-label": `Choose ${folder ? "folder " : ""}${exact(shown)}`,
      checked: me.chosen.has(k.Key),
      onchange: (e) => {
        if (e.target.checked) me.chosen.set(k.Key, folder ? null : k.ModifyIndex);
        else me.chosen.delete(k.Key);
        me.may.changed();
      },
    }),
  );
}

const about = (k) =>
  [
    bytes(k.Size),
    `revision ${group(k.ModifyIndex)}`,
    k.ExpiresIn && `expires in ${k.ExpiresIn}`,
    k.Session && "locked",
  ]
    .filter(Boolean)
    .join(" · ");

// choose returns the buttons that choose all keys that are shown, or nothing. Folders are chosen one by one.
export function choose(app, me) {
  const keys = fitting(me).filter((k) => !isFolder(k));
  if (keys.length === 0 && me.chosen.size === 0) return null;
  const set = (change) => () => {
    change();
    me.may.changed();
  };
  return [
    keys.length > 0 &&
      h(
        "button",
        { type: "button", onclick: set(() => keys.forEach((k) => me.chosen.set(k.Key, k.ModifyIndex))) },
        "Choose all keys shown",
      ),
    me.chosen.size > 0 && h("button", { type: "button", onclick: set(() => me.chosen.clear()) }, "Choose none"),
  ];
}
