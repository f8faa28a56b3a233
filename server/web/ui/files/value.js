// One key: its value as text, JSON or in hexadecimal.
import { path, write } from "./api.js";
import { notice, read as readAsIs } from "./asis.js";
import { barred, May, why } from "./may.js";
import { dump, fromBase64, start, toText } from "./codec.js";
import { confirm, h } from "./dom.js";
import { begin, dirty, editor } from "./edit.js";
import { pretty } from "./json.js";
import { crumbs } from "./keys.js";
import { name, value } from "./names.js";
import { download, outcome, press, trouble } from "./parts.js";
import { bytes, exact, group, plural } from "./text.js";

const maxShown = 64 << 10; // bytes of a value that are shown
const maxHex = 4 << 10; // of them in hexadecimal
const maxEdited = 256 << 10; // bytes of a value that can be edited here

export function open(app, params) {
  const key = params.get("k") ?? "";
  const me = { key, entry: undefined, bytes: null, how: null, edit: null, failure: null, note: null, theirs: null };
  me.may = new May(app, () => [["key", "write", me.edit ? me.edit.key : key]]);
  const fresh = params.has("n");

  async function read() {
    try {
      me.last = await readAsIs(app, path("v1/kv/", key), {});
      keep(me, me.last.data[0]);
    } catch (err) {
      if (err.code === "not-found") {
        me.last = { asIs: err.asIs };
        keep(me, null);
      } else me.failure = err;
    }
    app.draw();
  }
  if (fresh) begin(me, null);
  return {
    title: fresh ? "New key" : exact(key),
    sources: fresh ? [me.may.source()] : [{ name: "value", every: 2000, ask: read }, me.may.source()],
    unsaved: () => dirty(me.edit),
    discard: () => {
      me.edit = null;
    },
    view: () =>
      fresh ? [h("h1", {}, "New key"), crumbs(me.key), note(me), me.edit && editor(app, me, true)] : view(app, me),
  };
}

// keep takes what the node has of the key, null for nothing.
function keep(me, entry) {
  me.failure = null;
  if (me.entry && entry && me.entry.ModifyIndex === entry.ModifyIndex) {
    me.entry = entry;
    return;
  }
  me.entry = entry;
  me.bytes = entry ? fromBase64(entry.Value) : null;
  me.text = entry ? toText(start(me.bytes, maxShown)) : null;
  me.json = null;
  if (me.text != null && me.bytes.length <= maxShown && /^\s*[{[]/.test(me.text)) {
    try {
      me.json = pretty(me.text);
    } catch {
      /* text */
    }
  }
  const can = ways(me);
  if (!can.includes(me.how)) me.how = me.json ? "JSON" : can[0];
}

const ways = (me) => [me.text != null && "Text", me.json != null && "JSON", "Hex"].filter(Boolean);

function view(app, me) {
  return [
    h("h1", { class: "key" }, name(me.key)),
    crumbs(me.key),
    notice(me.last),
    me.failure && trouble(me.failure, "see this key"),
    note(me),
    me.entry === undefined
      ? !me.failure && h("p", { class: "quiet" }, "Asking …")
      : me.entry === null
        ? absent(app, me)
        : [facts(me), me.edit ? null : shown(app, me)],
    me.edit ? editor(app, me, false) : me.entry !== undefined && why(app, me.may),
  ];
}

const note = (me) => me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text);

const absent = (app, me) =>
  me.edit
    ? null
    : [
        h("p", { class: "empty" }, "There is no such key."),
        h(
          "div",
          { class: "actions" },
          h(
            "button",
            {
              ...barred(app, me.may, {
                type: "button",
                onclick: () => {
                  begin(me, null);
                  app.draw();
                },
              }),
              class: "main",
            },
            "Create it",
          ),
        ),
      ];

function facts(me) {
  const e = me.entry;
  const items = [
    ["Revision", group(e.ModifyIndex)],
    ["Created at", group(e.CreateIndex)],
    ["Size", bytes(me.bytes.length)],
    ["Flags", String(e.Flags)],
    ["Expires", e.ExpiresIn ? `in ${e.ExpiresIn}` : "never"],
    ["Lock", e.Session ? h("span", {}, "held by session ", h("a", { href: "#locks" }, e.Session)) : "free"],
    Number(e.LockIndex) > 0 && ["Locked so far", plural(e.LockIndex, "time")],
  ].filter(Boolean);
  return h(
    "dl",
    { class: "facts" },
    items.map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))),
  );
}

function shown(app, me) {
  const part = me.how === "Hex" ? start(me.bytes, maxHex) : start(me.bytes, maxShown);
  const text = me.how === "Hex" ? dump(part) : me.how === "JSON" ? me.json : me.text;
  const edits = me.bytes.length <= maxEdited;
  return [
    h(
      "div",
      { class: "row tools" },
      h(
        "div",
        { class: "choice", role: "group", "aria-label": "Show as" },
        ways(me).map((w) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(w === me.how),
              onclick: () => {
                me.how = w;
                app.draw();
              },
            },
            w,
          ),
        ),
      ),
      h(
        "button",
        {
          ...barred(app, me.may, {
            type: "button",
            onclick: () => {
              begin(me, me.entry);
              app.draw();
            },
          }),
          class: "main",
          disabled: !edits,
        },
        "Edit",
      ),
      h(
        "button",
        { type: "button", onclick: () => download(new Blob([me.bytes]), me.key.split("/").pop() || "value") },
        "Save to a file",
      ),
      h("button", { ...barred(app, me.may, press(app, me, () => remove(app, me))), class: "danger" }, "Delete"),
    ),
    me.bytes.length === 0
      ? h("p", { class: "empty" }, "The value is empty.")
      : h(
          "pre",
          { class: "value", tabindex: 0, role: "region", "aria-label": "Value" },
          me.how === "Text" ? value(text) : text,
        ),
    part.length < me.bytes.length &&
      h("p", { class: "quiet" }, `The first ${bytes(part.length)} of ${bytes(me.bytes.length)}.`),
    !edits && h("p", { class: "quiet" }, `Values above ${bytes(maxEdited)} are not edited here: use kvctl set.`),
  ];
}

async function remove(app, me) {
  const seen = me.entry.ModifyIndex; // the page may learn of a newer one while the person thinks
  const sure = await confirm(
    "Delete this key?",
    [h("p", {}, h("code", {}, name(me.key))), h("p", {}, "It is deleted only if nobody has changed it meanwhile.")],
    "Delete",
    true,
  );
  if (!sure) return;
  try {
    const { data } = await write("DELETE", path("v1/kv/", me.key), { query: { cas: seen } });
    me.note =
      data === true
        ? { kind: "good", text: "Deleted." }
        : { kind: "bad", text: "Nothing was changed: somebody has written this key since." };
  } catch (err) {
    me.note = outcome(err);
  }
  app.soon("value");
}
