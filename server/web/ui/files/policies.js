// The part Policies: all policies, one with its rules and the tokens that have it, and a form for them.
import { get, path, write } from "./api.js";
import { address } from "./app.js";
import { aclNav, input, policies } from "./choose.js";
import { confirm, h } from "./dom.js";
import { barred, May, why } from "./may.js";
import { name } from "./names.js";
import { outcome, press, trouble } from "./parts.js";
import { group, plural } from "./text.js";
import { title } from "./tokens.js";
import { sureToLose } from "./unsaved.js";

const maxHolders = 20; // tokens with a policy that are shown
const maxShown = 200;
const management = "00000000-0000-0000-0000-000000000001";
const example = 'key_prefix "app/" { policy = "read" }';

export function open(app, params) {
  const id = params.get("id") ?? "";
  const me = { id, list: null, policy: null, holders: null, failure: null, note: null, form: null, only: "" };
  me.may = new May(app, () => [["acl", "write"]]);
  async function read() {
    try {
      if (id) {
        me.policy = (await get(path("v1/acl/policy/", id))).data;
        me.holders = (await get("v1/acl/tokens", { policy: id })).data;
      } else me.list = await policies();
      me.failure = null;
    } catch (err) {
      me.failure = err;
      if (err.code === "not-found") me.policy = null;
    }
    app.draw();
  }
  return {
    title: "Policies",
    sources: [{ name: "policies", every: 10000, ask: read }, me.may.source()],
    unsaved: () => dirty(me.form),
    discard: () => {
      me.form = null;
    },
    view: () => [
      h("h1", {}, id ? (me.policy?.Name ?? "Policy") : "Policies"),
      aclNav(id ? "" : "policies"),
      me.failure && trouble(me.failure, "see policies"),
      me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text),
      (me.list || me.policy) && [why(app, me.may), me.form && form(app, me)],
      me.list && listing(app, me),
      me.policy && !me.form && one(app, me),
    ],
  };
}

const where = (me) => path("v1/acl/policy/", me.id);

const typed = (f) => JSON.stringify([f.name, f.description, f.rules]);
const dirty = (f) => f != null && typed(f) !== f.first;

function begin(app, me, p) {
  me.form = { name: p?.Name ?? "", description: p?.Description ?? "", rules: p?.Rules ?? "", base: p?.ModifyIndex };
  me.form.theirs = null; // what somebody else has made of the policy since
  me.form.first = typed(me.form);
  me.note = null;
  app.draw();
}

function listing(app, me) {
  const list = me.list.filter((p) => (p.Name + " " + p.Description).toLowerCase().includes(me.only.toLowerCase()));
  return [
    !me.form &&
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          { ...barred(app, me.may, { type: "button", onclick: () => begin(app, me, null) }), class: "main" },
          "New policy",
        ),
      ),
    h("h2", { id: "all-policies" }, "All policies", h("span", { class: "count" }, group(me.list.length))),
    me.list.length > 5 && input(app, me, "only", "Only those with"),
    h(
      "ul",
      { class: "list", "aria-labelledby": "all-policies" },
      list.slice(0, maxShown).map((p) =>
        h(
          "li",
          { key: p.ID },
          h("p", {}, h("strong", {}, h("a", { href: address("policy", { id: p.ID }) }, p.Name))),
          p.Description && h("p", { class: "quiet" }, name(p.Description)),
        ),
      ),
    ),
    list.length > maxShown && h("p", { class: "quiet" }, `The first ${maxShown} of ${list.length}.`),
  ];
}

function one(app, me) {
  const p = me.policy;
  const builtin = p.ID === management;
  return [
    p.Description && h("p", { class: "quiet" }, name(p.Description)),
    h(
      "pre",
      { class: "value", tabindex: 0, role: "region", "aria-label": `Rules of ${p.Name}` },
      p.Rules || "(no rules)",
    ),
    builtin
      ? h("p", { class: "quiet" }, "This policy is built in, and cannot be changed.")
      : h(
          "div",
          { class: "actions" },
          h("button", barred(app, me.may, { type: "button", onclick: () => begin(app, me, p) }), "Change"),
          h("button", { ...barred(app, me.may, press(app, me, () => remove(app, me))), class: "danger" }, "Delete"),
        ),
    h("h2", {}, "Tokens that have it", me.holders && h("span", { class: "count" }, group(me.holders.length))),
    me.holders && holders(me.holders),
  ];
}

const holders = (list) => [
  list.length === 0 && h("p", { class: "empty" }, "None."),
  h(
    "ul",
    {},
    list
      .slice(0, maxHolders)
      .map((t) => h("li", { key: t.AccessorID }, h("a", { href: address("token", { a: t.AccessorID }) }, title(t)))),
  ),
  list.length > maxHolders && h("p", { class: "quiet" }, `and ${group(list.length - maxHolders)} more`),
];

const form = (app, me) =>
  h(
    "form",
    { class: "editor", onsubmit: (e) => e.preventDefault() },
    input(app, me.form, "name", "Name", "letters, digits, - and _"),
    input(app, me.form, "description", "Description"),
    h(
      "div",
      { class: me.form.theirs ? "both" : "" },
      h(
        "label",
        {},
        h("span", {}, "Rules"),
        h("textarea", {
          rows: 10,
          spellcheck: "false",
          autocapitalize: "off",
          value: me.form.rules,
          placeholder: example,
          oninput: (e) => {
            me.form.rules = e.target.value;
            app.draw();
          },
        }),
      ),
      me.form.theirs && theirs(me.form.theirs),
    ),
    h(
      "div",
      { class: "actions" },
      h(
        "button",
        {
          ...barred(app, me.may, press(app, me, () => save(app, me))),
          class: me.form.theirs ? "danger" : "main",
        },
        me.form.theirs ? "Save mine over theirs" : "Save",
      ),
      h("button", { type: "button", onclick: () => cancel(app, me) }, me.form.theirs ? "Keep theirs" : "Cancel"),
    ),
  );

// theirs is what somebody else has made of the policy.
const theirs = (p) =>
  h(
    "div",
    {},
    h(
      "label",
      {},
      h("span", {}, `Theirs, revision ${group(p.ModifyIndex)}`),
      h("textarea", { rows: 10, readonly: true, value: p.Rules }),
    ),
    h("p", { class: "quiet" }, `Named ${p.Name}, described as: `, p.Description ? name(p.Description) : "(nothing)"),
  );

async function cancel(app, me) {
  if (!me.form.theirs && dirty(me.form) && !(await sureToLose())) return;
  Object.assign(me, { form: null, note: null });
  app.soon("policies");
  app.draw();
}

async function save(app, me) {
  const f = me.form;
  const body = JSON.stringify({ Name: f.name, Description: f.description, Rules: f.rules });
  try {
    if (!me.id) {
      const { data } = await write("PUT", "v1/acl/policy", { body });
      me.form = null;
      app.go("policy", { id: data.ID });
      return;
    }
    await write("PUT", where(me), { query: { cas: f.base }, body });
    Object.assign(me, { form: null, note: { kind: "good", text: "Saved." } });
  } catch (err) {
    if (err.code !== "condition") me.note = outcome(err);
    else await show(me);
  }
  app.soon("policies");
}

// show fetches what somebody else has made of the policy. What was typed stays, and would be saved over that.
async function show(me) {
  try {
    me.form.theirs = (await get(where(me))).data;
    me.form.base = me.form.theirs.ModifyIndex;
    me.note = { kind: "bad", text: "Nothing was changed: somebody has changed this policy since." };
  } catch (err) {
    me.note = outcome(err);
  }
}

async function remove(app, me) {
  const n = me.holders?.length ?? 0;
  const sure = await confirm(
    "Delete this policy?",
    [
      h("p", {}, h("strong", {}, me.policy.Name)),
      h("p", {}, n === 0 ? "No token has it." : `It is taken from ${plural(n, "token")}:`),
      n > 0 && h("div", {}, holders(me.holders)),
    ].filter(Boolean),
    "Delete",
    true,
  );
  if (!sure) return;
  try {
    await write("DELETE", where(me));
    app.go("policies");
  } catch (err) {
    me.note = outcome(err);
  }
}
