// One key: its value as text, JSON or in hexadecimal; edited with check-and-set, so that nobody's change is lost.
import { get, path, write } from "./api.js";
import { dump, fromBase64, fromHex, fromText, toHex, toText } from "./codec.js";
import { confirm, h } from "./dom.js";
import { pretty } from "./json.js";
import { crumbs } from "./keys.js";
import { download, outcome, press, trouble } from "./parts.js";
import { bytes, group, plural } from "./text.js";

const maxShown = 64 << 10; // bytes of a value that are shown
const maxHex = 4 << 10; // of them in hexadecimal
const maxEdited = 256 << 10; // bytes of a value that can be edited here

export function open(app, params) {
  const key = params.get("k") ?? "";
  const me = { key, entry: undefined, bytes: null, how: null, edit: null, failure: null, note: null, theirs: null };
  const fresh = params.has("n");

  async function read() {
    try {
      const found = (await get(path("v1/kv/", key), { stale: app.stale })).data[0];
      keep(me, found);
    } catch (err) {
      if (err.code === "not-found") keep(me, null);
      else me.failure = err;
    }
    app.draw();
  }
  if (fresh) begin(me, null);
  return {
    title: fresh ? "New key" : key,
    sources: fresh ? [] : [{ name: "value", every: 2000, ask: read }],
    view: () => (fresh ? [h("h1", {}, "New key"), crumbs(me.key), note(me), me.edit && editor(app, me, true)] : view(app, me)),
  };
}

// keep takes what the node has of the key, null for nothing.
function keep(me, entry) {
  me.failure = null;
  if (me.entry && entry && me.entry.ModifyIndex === entry.ModifyIndex) { me.entry = entry; return; }
  me.entry = entry;
  me.bytes = entry ? fromBase64(entry.Value) : null;
  me.text = entry ? toText(me.bytes.subarray(0, maxShown)) : null;
  me.json = null;
  if (me.text != null && me.bytes.length <= maxShown && /^\s*[{[]/.test(me.text)) {
    try { me.json = pretty(me.text); } catch { /* text */ }
  }
  const can = ways(me);
  if (!can.includes(me.how)) me.how = me.json ? "JSON" : can[0];
}

const ways = (me) => [me.text != null && "Text", me.json != null && "JSON", "Hex"].filter(Boolean);

function view(app, me) {
  return [
    h("h1", { class: "key" }, me.key),
    crumbs(me.key),
    me.failure && trouble(me.failure, "see this key"),
    note(me),
    me.entry === undefined ? !me.failure && h("p", { class: "quiet" }, "Asking …") : me.entry === null ? absent(app, me) : [facts(me), me.edit ? null : shown(app, me)],
    me.edit && editor(app, me, false),
  ];
}

const note = (me) => me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text);

const absent = (app, me) => me.edit ? null : [h("p", { class: "empty" }, "There is no such key."),
  h("div", { class: "actions" }, h("button", { type: "button", class: "main", onclick: () => { begin(me, null); app.draw(); } }, "Create it"))];

function facts(me) {
  const e = me.entry;
  const items = [["Revision", group(e.ModifyIndex)], ["Created at", group(e.CreateIndex)], ["Size", bytes(me.bytes.length)], ["Flags", String(e.Flags)],
    ["Expires", e.ExpiresIn ? `in ${e.ExpiresIn}` : "never"],
    ["Lock", e.Session ? h("span", {}, "held by session ", h("a", { href: "#locks" }, e.Session)) : "free"],
    Number(e.LockIndex) > 0 && ["Locked so far", plural(e.LockIndex, "time")]].filter(Boolean);
  return h("dl", { class: "facts" }, items.map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))));
}

function shown(app, me) {
  const part = me.how === "Hex" ? me.bytes.subarray(0, maxHex) : me.bytes.subarray(0, maxShown);
  const text = me.how === "Hex" ? dump(part) : me.how === "JSON" ? me.json : me.text;
  const edits = me.bytes.length <= maxEdited;
  return [
    h("div", { class: "row tools" },
      h("div", { class: "choice", role: "group", "aria-label": "Show as" }, ways(me).map((w) =>
        h("button", { type: "button", "aria-pressed": String(w === me.how), onclick: () => { me.how = w; app.draw(); } }, w))),
      h("button", { type: "button", class: "main", disabled: !edits, onclick: () => { begin(me, me.entry); app.draw(); } }, "Edit"),
      h("button", { type: "button", onclick: () => download(new Blob([me.bytes]), me.key.split("/").pop() || "value") }, "Save to a file"),
      h("button", { ...press(app, me, () => remove(app, me)), class: "danger" }, "Delete")),
    me.bytes.length === 0 ? h("p", { class: "empty" }, "The value is empty.") :
      h("pre", { class: "value", tabindex: 0, role: "region", "aria-label": "Value" }, text),
    part.length < me.bytes.length && h("p", { class: "quiet" }, `The first ${bytes(part.length)} of ${bytes(me.bytes.length)}.`),
    !edits && h("p", { class: "quiet" }, `Values above ${bytes(maxEdited)} are not edited here: use kvctl set.`),
  ];
}

// begin opens the editor on an entry, null for a key that is to be made.
function begin(me, entry) {
  const raw = entry ? me.bytes : new Uint8Array();
  const text = toText(raw);
  me.note = null;
  me.theirs = null;
  me.edit = { key: me.key, base: entry ? entry.ModifyIndex : 0, as: text == null ? "Hex" : "Text", text: text ?? toHex(raw), onlyHex: text == null,
    flags: String(entry?.Flags ?? 0), ttl: entry?.ExpiresIn ?? "" };
}

function editor(app, me, fresh) {
  const e = me.edit;
  const field = (name, label, hint) => h("label", {}, h("span", {}, label), h("input", { type: "text", name, value: e[name], autocomplete: "off",
    placeholder: hint, oninput: (ev) => { e[name] = ev.target.value; } }));
  const changed = !fresh && !me.theirs && (me.entry?.ModifyIndex ?? 0) !== e.base;
  return h("form", { class: "editor", onsubmit: (ev) => ev.preventDefault() },
    fresh && h("label", {}, h("span", {}, "Key"), h("input", { type: "text", class: "key", value: e.key, autocomplete: "off", spellcheck: "false", oninput: (ev) => { e.key = ev.target.value; } })),
    h("div", { class: "choice", role: "group", "aria-label": "Edit as" }, ["Text", "Hex"].map((as) =>
      h("button", { type: "button", "aria-pressed": String(as === e.as), disabled: as === "Text" && e.onlyHex, onclick: () => { turn(me, as); app.draw(); } }, as))),
    h("div", { class: me.theirs ? "both" : "" },
      h("label", {}, h("span", {}, me.theirs ? "Yours" : "Value"), h("textarea", { rows: 12, spellcheck: "false", autocapitalize: "off", value: e.text, oninput: (ev) => { e.text = ev.target.value; } })),
      me.theirs && conflict(me)),
    e.onlyHex && h("p", { class: "quiet" }, "The value is no plain text, so it is edited in hexadecimal."),
    h("div", { class: "row" }, field("flags", "Flags"), field("ttl", "Expires in", "never, or 30s, 5m, 7d")),
    changed && h("p", { class: "alert bad", role: "status" }, "Somebody has changed the key since you began. Saving will show both."),
    h("div", { class: "actions" }, me.theirs ? choices(app, me) : [
      h("button", { ...press(app, me, () => save(app, me, fresh)), class: "main" }, "Save"),
      h("button", { type: "button", onclick: () => (fresh ? history.back() : (me.edit = null, me.note = null, app.draw())) }, "Cancel")]));
}

// turn changes how the value is edited.
function turn(me, as) {
  const e = me.edit;
  const raw = edited(e);
  if (raw == null) { me.note = { kind: "bad", text: "That is no hexadecimal: two digits a byte." }; return; }
  const text = as === "Hex" ? toHex(raw) : toText(raw);
  if (text == null) { me.note = { kind: "bad", text: "These bytes are no plain text." }; return; }
  Object.assign(e, { as, text });
}

const edited = (e) => (e.as === "Hex" ? fromHex(e.text) : fromText(e.text));

async function save(app, me, fresh) {
  const e = me.edit;
  const raw = edited(e);
  const wrong = raw == null ? "That is no hexadecimal: two digits a byte." : !/^\d{1,20}$/.test(e.flags) ? "Flags are a whole number." : fresh && !e.key ? "Name the key." : "";
  if (wrong) { me.note = { kind: "bad", text: wrong }; return; }
  try {
    const { data } = await write("PUT", path("v1/kv/", e.key), { query: { cas: e.base, flags: e.flags, ttl: e.ttl.trim() || null }, body: raw });
    if (data !== true) { await show(app, me); return; }
    Object.assign(me, { edit: null, theirs: null, note: { kind: "good", text: "Saved." } });
    if (fresh) app.go("key", { k: e.key });
    else app.soon("value");
  } catch (err) {
    me.note = outcome(err);
  }
}

// show fetches what somebody else has made of the key: nothing of either is lost.
async function show(app, me) {
  try {
    const now = (await get(path("v1/kv/", me.edit.key))).data[0];
    const raw = fromBase64(now.Value);
    me.theirs = { base: now.ModifyIndex, raw, text: toText(raw) ?? dump(raw.subarray(0, maxHex)), flags: String(now.Flags) };
  } catch (err) {
    if (err.code !== "not-found") { me.note = outcome(err); return; }
    me.theirs = { base: 0, raw: null, text: "" };
  }
  me.note = { kind: "bad", text: me.theirs.raw ? "Nothing was changed: somebody has written this key since." : "Nothing was changed: somebody has deleted this key since." };
}

const conflict = (me) => h("label", {}, h("span", {}, me.theirs.raw ? `Theirs, revision ${group(me.theirs.base)}, flags ${me.theirs.flags}` : "Theirs: deleted"),
  h("textarea", { rows: 12, readonly: true, value: me.theirs.text }));

const choices = (app, me) => [
  h("button", { ...press(app, me, () => { me.edit.base = me.theirs.base; me.theirs = null; return save(app, me, false); }), class: "danger" }, "Save mine over theirs"),
  h("button", { type: "button", class: "main", onclick: () => { Object.assign(me, { edit: null, theirs: null, note: null }); app.go("key", { k: me.key }); app.soon("value"); app.draw(); } }, "Keep theirs"),
];

async function remove(app, me) {
  const sure = await confirm("Delete this key?", [h("p", {}, h("code", {}, me.key)), h("p", {}, "It is deleted only if nobody has changed it meanwhile.")], "Delete", true);
  if (!sure) return;
  try {
    const { data } = await write("DELETE", path("v1/kv/", me.key), { query: { cas: me.entry.ModifyIndex } });
    me.note = data === true ? { kind: "good", text: "Deleted." } : { kind: "bad", text: "Nothing was changed: somebody has written this key since." };
  } catch (err) {
    me.note = outcome(err);
  }
  app.soon("value");
}
