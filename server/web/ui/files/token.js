// One token: what it may do, narrowed or widened by its policies, and its end.
import { Failure, get, path, write } from "./api.js";
import { address } from "./app.js";
import { aclNav, choice, input, policies } from "./choose.js";
import { confirm, h } from "./dom.js";
import { barred, May, why } from "./may.js";
import { name } from "./names.js";
import { outcome, press, trouble } from "./parts.js";
import { time } from "./text.js";
import { title } from "./tokens.js";
import { sureToLose } from "./unsaved.js";
import { Uses } from "./uses.js";

const anonymous = "00000000-0000-0000-0000-000000000002";
const where = (me) => path("v1/acl/token/", me.accessor);

export function open(app, params) {
  const me = { accessor: params.get("a") ?? "", token: null, policies: [], failure: null, note: null, form: null };
  me.may = new May(app, () => [["acl", "write"]]);
  me.uses = new Uses(app, () => [me.accessor]);
  async function read() {
    try {
      me.self ??= (await get("v1/acl/token/self")).data.AccessorID;
      me.token = (await get(where(me))).data;
      me.policies = await policies();
      me.failure = null;
    } catch (err) {
      if (!(err instanceof Failure)) throw err;
      me.failure = err;
      if (err.code === "not-found") me.token = null;
    }
    app.draw();
  }
  return {
    title: "Token",
    sources: [{ name: "token", every: 10000, ask: read }, me.uses.source(), me.may.source()],
    unsaved: () => me.form != null && typed(me.form) !== me.form.first,
    discard: () => {
      me.form = null;
    },
    view: () => [
      h("h1", {}, me.token ? title(me.token) : "Token"),
      aclNav(""),
      me.failure && trouble(me.failure, "see tokens"),
      me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text),
      me.token && [facts(me), me.uses.gap(), why(app, me.may), me.form ? form(app, me) : buttons(app, me)],
    ],
  };
}

const typed = (f) => JSON.stringify([f.name, f.description, [...f.chosen].sort()]);

function facts(me) {
  const t = me.token;
  const items = [
    ["Description", t.Description ? name(t.Description) : "(none)"],
    ["Accessor", h("code", {}, t.AccessorID)],
    ["Made", Date.parse(t.CreateTime) > 0 ? time(t.CreateTime) : "with the cluster"],
    ["Expires", t.ExpirationTime ? time(t.ExpirationTime) : "never"],
    ["Last use", me.uses.of(t)],
    t.Certificate && ["Certificate", name(t.Certificate)],
    ["Policies", links(t.Policies ?? [])],
  ].filter(Boolean);
  return h(
    "dl",
    { class: "facts" },
    items.map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))),
  );
}

const links = (list) =>
  list.length === 0
    ? "none: it may do nothing"
    : list.map((p, i) => [i > 0 && ", ", h("a", { href: address("policy", { id: p.ID }) }, p.Name)]);

function buttons(app, me) {
  const own = me.token.AccessorID === me.self;
  const nobody = me.token.AccessorID === anonymous;
  return [
    h(
      "div",
      { class: "actions" },
      h("button", barred(app, me.may, { type: "button", onclick: () => begin(app, me) }), "Change"),
      !own &&
        !nobody &&
        h("button", { ...barred(app, me.may, press(app, me, () => revoke(app, me))), class: "danger" }, "Revoke"),
    ),
    own && h("p", { class: "quiet" }, "This is your own token: it cannot revoke itself."),
    nobody &&
      h("p", { class: "quiet" }, "Every request without a token has this one: it cannot be revoked, only narrowed."),
  ];
}

function begin(app, me) {
  const t = me.token;
  const chosen = new Set((t.Policies ?? []).map((p) => p.ID));
  me.form = { name: t.Name ?? "", description: t.Description, chosen, base: t.ModifyIndex };
  me.form.first = typed(me.form);
  me.note = null;
  app.draw();
}

const form = (app, me) =>
  h(
    "form",
    { class: "editor", onsubmit: (e) => e.preventDefault() },
    input(app, me.form, "name", "Name"),
    input(app, me.form, "description", "Description"),
    choice(app, me.form, me.policies),
    h(
      "div",
      { class: "actions" },
      h("button", { ...barred(app, me.may, press(app, me, () => save(app, me))), class: "main" }, "Save"),
      h(
        "button",
        {
          type: "button",
          onclick: async () => {
            if (typed(me.form) !== me.form.first && !(await sureToLose())) return;
            me.form = null;
            app.draw();
          },
        },
        "Cancel",
      ),
    ),
  );

// save changes the token, after it has shown what it is given and what is taken from it.
async function save(app, me) {
  const f = me.form;
  const had = new Set((me.token.Policies ?? []).map((p) => p.ID));
  const called = (ids) => ids.map((id) => me.policies.find((p) => p.ID === id)?.Name ?? id).join(", ") || "nothing";
  const sure = await confirm(
    "Change this token?",
    [
      h("p", {}, h("strong", {}, title(me.token))),
      h("p", {}, `Taken away: ${called([...had].filter((id) => !f.chosen.has(id)))}.`),
      h("p", {}, `Given: ${called([...f.chosen].filter((id) => !had.has(id)))}.`),
      h("p", { class: "quiet" }, "Its holders are affected at once, on open connections too."),
    ],
    "Change it",
  );
  if (!sure) return;
  const Policies = [...f.chosen].map((ID) => ({ ID }));
  const body = { AccessorID: me.accessor, Name: f.name, Description: f.description, Local: me.token.Local, Policies };
  try {
    await write("PUT", where(me), { query: { cas: f.base }, body: JSON.stringify(body) });
    Object.assign(me, { form: null, note: { kind: "good", text: "Saved." } });
  } catch (err) {
    if (err.code !== "condition") me.note = outcome(err);
    else await show(me);
  }
  app.soon("token");
}

// show fetches what somebody else has made of the token. What was typed stays, and would be saved over that.
async function show(me) {
  try {
    me.token = (await get(where(me))).data;
    me.form.base = me.token.ModifyIndex;
    const text = "Nothing was changed: somebody has changed this token since. Above the form it is as it is now.";
    me.note = { kind: "bad", text };
  } catch (err) {
    me.note = outcome(err);
  }
}

async function revoke(app, me) {
  const sure = await confirm(
    "Revoke this token?",
    [
      h("p", {}, h("strong", {}, title(me.token)), " ", h("code", {}, me.accessor)),
      h("p", {}, `It was ${me.uses.of(me.token)}.`),
      me.uses.gap(),
      h("p", {}, "Whoever uses it is refused at once, through every node. It cannot be taken back."),
    ].filter(Boolean),
    "Revoke",
    true,
  );
  if (!sure) return;
  try {
    await write("DELETE", where(me));
    Object.assign(me, { form: null, token: null, note: { kind: "good", text: "The token was revoked." } });
  } catch (err) {
    me.note = outcome(err);
  }
  app.soon("token");
}
