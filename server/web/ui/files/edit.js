// The editor of a key. It writes with check-and-set, so that nobody's change is lost: if somebody was faster, both
// values are shown, and the person decides.
import { get, path, write } from "./api.js";
import { dump, fromBase64, fromHex, fromText, start, toHex, toText } from "./codec.js";
import { h } from "./dom.js";
import { barred, why } from "./may.js";
import { outcome, press, unseenIn } from "./parts.js";
import { group } from "./text.js";
import { sureToLose } from "./unsaved.js";

const maxTheirs = 64 << 10; // bytes of somebody else's value that are shown
const maxTheirsHex = 4 << 10; // of them in hexadecimal

// begin opens the editor on an entry, null for a key that is to be made.
export function begin(me, entry) {
  const raw = entry ? me.bytes : new Uint8Array();
  const text = toText(raw);
  me.note = null;
  me.theirs = null;
  me.edit = {
    key: me.key,
    base: entry ? entry.ModifyIndex : 0,
    as: text == null ? "Hex" : "Text",
    text: text ?? toHex(raw),
    onlyHex: text == null,
    flags: String(entry?.Flags ?? 0),
    ttl: entry?.ExpiresIn ?? "",
  };
  me.edit.first = typed(me.edit);
}

const typed = (e) => JSON.stringify([e.key, e.text, e.flags, e.ttl]);

// dirty reports whether an edit, or null, has something that was typed and not saved.
export const dirty = (e) => e != null && typed(e) !== e.first;

// editor is the form; fresh: it has a field for the name of the key.
export function editor(app, me, fresh) {
  const e = me.edit;
  const field = (name, label, hint) =>
    h(
      "label",
      {},
      h("span", {}, label),
      h("input", {
        type: "text",
        name,
        value: e[name],
        autocomplete: "off",
        placeholder: hint,
        oninput: (ev) => {
          e[name] = ev.target.value;
        },
      }),
    );
  const known = !fresh && !me.theirs && !me.last?.asIs; // an old answer is no change
  const changed = known && (me.entry?.ModifyIndex ?? 0) !== e.base;
  return h(
    "form",
    { class: "editor", onsubmit: (ev) => ev.preventDefault() },
    fresh &&
      h(
        "label",
        {},
        h("span", {}, "Key"),
        h("input", {
          type: "text",
          class: "key",
          value: e.key,
          autocomplete: "off",
          spellcheck: "false",
          oninput: (ev) => {
            e.key = ev.target.value;
            me.may.changed();
          },
        }),
      ),
    fresh && unseenIn("The key", e.key),
    why(app, me.may),
    h(
      "div",
      { class: "choice", role: "group", "aria-label": "Edit as" },
      ["Text", "Hex"].map((as) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(as === e.as),
            disabled: as === "Text" && e.onlyHex,
            onclick: () => {
              turn(me, as);
              app.draw();
            },
          },
          as,
        ),
      ),
    ),
    h(
      "div",
      { class: me.theirs ? "both" : "" },
      h(
        "label",
        {},
        h("span", {}, me.theirs ? "Yours" : "Value"),
        h("textarea", {
          rows: 12,
          spellcheck: "false",
          autocapitalize: "off",
          value: e.text,
          oninput: (ev) => {
            e.text = ev.target.value;
          },
        }),
      ),
      me.theirs && conflict(me),
    ),
    unseenIn("The value", e.text, true),
    me.theirs && unseenIn("Theirs", me.theirs.text, true),
    e.onlyHex && h("p", { class: "quiet" }, "The value is no plain text, so it is edited in hexadecimal."),
    h("div", { class: "row" }, field("flags", "Flags"), field("ttl", "Expires in", "never, or 30s, 5m, 7d")),
    changed &&
      h(
        "p",
        { class: "alert bad", role: "status" },
        "Somebody has changed the key since you began. Saving will show both.",
      ),
    h(
      "div",
      { class: "actions" },
      me.theirs
        ? choices(app, me)
        : [
            h(
              "button",
              { ...barred(app, me.may, press(app, me, () => save(app, me, fresh))), class: "main" },
              "Save",
            ),
            h(
              "button",
              {
                type: "button",
                onclick: () => cancel(app, me, fresh),
              },
              "Cancel",
            ),
          ],
    ),
  );
}

async function cancel(app, me, fresh) {
  if (dirty(me.edit) && !(await sureToLose())) return;
  Object.assign(me, { edit: null, note: null });
  if (fresh) history.back();
  else app.draw();
}

// turn changes how the value is edited.
function turn(me, as) {
  const e = me.edit;
  const raw = edited(e);
  if (raw == null) {
    me.note = { kind: "bad", text: "That is no hexadecimal: two digits a byte." };
    return;
  }
  const text = as === "Hex" ? toHex(raw) : toText(raw);
  if (text == null) {
    me.note = { kind: "bad", text: "These bytes are no plain text." };
    return;
  }
  const unchanged = !dirty(e);
  Object.assign(e, { as, text });
  if (unchanged) e.first = typed(e); // another spelling of the same bytes
}

const edited = (e) => (e.as === "Hex" ? fromHex(e.text) : fromText(e.text));

async function save(app, me, fresh) {
  const e = me.edit;
  const raw = edited(e);
  const wrong =
    raw == null
      ? "That is no hexadecimal: two digits a byte."
      : !/^\d{1,20}$/.test(e.flags)
        ? "Flags are a whole number."
        : fresh && !e.key
          ? "Name the key."
          : "";
  if (wrong) {
    me.note = { kind: "bad", text: wrong };
    return;
  }
  try {
    const { data } = await write("PUT", path("v1/kv/", e.key), {
      query: { cas: e.base, flags: e.flags, ttl: e.ttl.trim() || null },
      body: raw,
    });
    if (data !== true) {
      await show(app, me);
      return;
    }
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
    me.theirs = {
      base: now.ModifyIndex,
      raw,
      text: toText(start(raw, maxTheirs)) ?? dump(start(raw, maxTheirsHex)),
      flags: String(now.Flags),
    };
  } catch (err) {
    if (err.code !== "not-found") {
      me.note = outcome(err);
      return;
    }
    me.theirs = { base: 0, raw: null, text: "" };
  }
  me.note = {
    kind: "bad",
    text: me.theirs.raw
      ? "Nothing was changed: somebody has written this key since."
      : "Nothing was changed: somebody has deleted this key since.",
  };
}

const conflict = (me) =>
  h(
    "label",
    {},
    h(
      "span",
      {},
      me.theirs.raw ? `Theirs, revision ${group(me.theirs.base)}, flags ${me.theirs.flags}` : "Theirs: deleted",
    ),
    h("textarea", { rows: 12, readonly: true, value: me.theirs.text }),
  );

const choices = (app, me) => [
  h(
    "button",
    {
      ...barred(
        app,
        me.may,
        press(app, me, () => {
          me.edit.base = me.theirs.base;
          me.theirs = null;
          return save(app, me, false);
        }),
      ),
      class: "danger",
    },
    "Save mine over theirs",
  ),
  h(
    "button",
    {
      type: "button",
      class: "main",
      onclick: () => {
        Object.assign(me, { edit: null, theirs: null, note: null });
        app.go("key", { k: me.key });
        app.soon("value");
        app.draw();
      },
    },
    "Keep theirs",
  ),
];
