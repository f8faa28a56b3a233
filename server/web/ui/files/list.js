// The list of keys: what there is about each besides its value, a filter, and which are chosen.
import { address } from "./app.js";
import { h } from "./dom.js";
import { name } from "./names.js";
import { bytes, exact, group, plural } from "./text.js";

// listing shows a page of keys. me has names, prefix, only, and chosen, a map from a key to the revision at which it
// was chosen.
export function listing(app, me) {
  if (me.names.length === 0) return h("p", { class: "empty" }, "No key begins with that.");
  const fits = me.names.filter((k) => k.Key.slice(me.prefix.length).toLowerCase().includes(me.only.toLowerCase()));
  return [
    me.names.length > 5 && filter(app, me, fits),
    fits.length === 0 && h("p", { class: "empty" }, "None on this page has that."),
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
      h("span", {}, "Only those on this page with"),
      h("input", {
        type: "text",
        value: me.only,
        autocomplete: "off",
        spellcheck: "false",
        oninput: (e) => {
          me.only = e.target.value;
          app.draw();
        },
      }),
    ),
    me.only &&
      h("p", { class: "quiet", role: "status" }, `${group(fits.length)} of ${plural(me.names.length, "name")}`),
  );

const isFolder = (k) => k.Count != null;

function row(app, me, k) {
  const folder = isFolder(k);
  const shown = k.Key.slice(me.prefix.length) || k.Key;
  return h(
    "li",
    { key: k.Key, class: folder ? "below" : "" },
    h("a", { href: folder ? address("keys", { p: k.Key }) : address("key", { k: k.Key }) }, name(shown)),
    h("span", { class: "about" }, folder ? plural(k.Count, "key") : about(k)),
    !folder &&
      h("input", {
        type: "checkbox",
        "aria-label": `Choose ${exact(shown)}`,
        checked: me.chosen.has(k.Key),
        onchange: (e) => {
          if (e.target.checked) me.chosen.set(k.Key, k.ModifyIndex);
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

// choose returns the buttons that choose all keys of the page, or none.
export function choose(app, me) {
  const keys = me.names.filter((k) => !isFolder(k));
  if (keys.length === 0) return null;
  const set = (change) => () => {
    change();
    me.may.changed();
  };
  return [
    h(
      "button",
      { type: "button", onclick: set(() => keys.forEach((k) => me.chosen.set(k.Key, k.ModifyIndex))) },
      "Choose all on this page",
    ),
    me.chosen.size > 0 && h("button", { type: "button", onclick: set(() => me.chosen.clear()) }, "Choose none"),
  ];
}
