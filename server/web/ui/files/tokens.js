// The part Tokens: all tokens with what they may do and when they were last used, and a form that makes one.
import { get, write } from "./api.js";
import { address } from "./app.js";
import { aclNav, choice, input, policies, uuid } from "./choose.js";
import { h } from "./dom.js";
import { barred, May, why } from "./may.js";
import { name } from "./names.js";
import { outcome, press, trouble } from "./parts.js";
import { group, plural, time } from "./text.js";
import { Uses } from "./uses.js";

const maxShown = 200;

export function open(app) {
  const me = { list: null, policies: [], failure: null, note: null, only: "", form: null, made: null };
  me.may = new May(app, () => [["acl", "write"]]);
  me.uses = new Uses(app, () => (me.list ? fitting(me).map((t) => t.AccessorID) : []));
  async function list() {
    try {
      const first = me.list == null;
      me.list = (await get("v1/acl/tokens")).data;
      if (first) app.soon("uses");
      me.policies = await policies();
      me.failure = null;
    } catch (err) {
      me.failure = err;
    }
    app.draw();
  }
  return {
    title: "Tokens",
    sources: [{ name: "tokens", every: 10000, ask: list }, me.uses.source(), me.may.source()],
    unsaved: () => (me.made ? lost : begun(me.form)),
    discard: () => Object.assign(me, { form: null, made: null }),
    view: () => [
      h("h1", {}, "Tokens"),
      aclNav("tokens"),
      me.failure && trouble(me.failure, "see tokens"),
      me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text),
      me.made && secret(app, me),
      me.list && !me.made && (me.form ? form(app, me) : begin(app, me)),
      me.list && listing(app, me),
    ],
  };
}

const begun = (f) => f != null && (f.name + f.description + f.ttl !== "" || f.chosen.size > 0);

const lost = "The secret of the new token is not shown again.";

const begin = (app, me) => [
  why(app, me.may),
  h(
    "div",
    { class: "actions" },
    h(
      "button",
      {
        ...barred(app, me.may, {
          type: "button",
          onclick: () => {
            Object.assign(me, { form: { name: "", description: "", ttl: "", chosen: new Set() }, note: null });
            app.draw();
          },
        }),
        class: "main",
      },
      "New token",
    ),
  ),
];

function form(app, me) {
  const f = me.form;
  return h(
    "form",
    { class: "editor", onsubmit: (e) => e.preventDefault() },
    h("h2", {}, "New token"),
    why(app, me.may),
    input(app, f, "name", "Name"),
    input(app, f, "description", "Description"),
    input(app, f, "ttl", "Expires in", "never, or 30m, 24h, 90d"),
    choice(app, f, me.policies),
    f.chosen.size === 0 && h("p", { class: "quiet" }, "Without a policy it may do nothing."),
    h(
      "div",
      { class: "actions" },
      h("button", { ...barred(app, me.may, press(app, me, () => make(app, me))), class: "main" }, "Make it"),
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            me.form = null;
            app.draw();
          },
        },
        "Cancel",
      ),
    ),
  );
}

// make makes a token. The page draws its secret, so that a request that is sent twice makes one token.
async function make(app, me) {
  const f = me.form;
  const made = { AccessorID: uuid(), SecretID: uuid() };
  const Policies = [...f.chosen].map((ID) => ({ ID }));
  const body = { ...made, Name: f.name, Description: f.description, ExpirationTTL: f.ttl.trim(), Policies };
  try {
    await write("PUT", "v1/acl/token", { body: JSON.stringify(body) });
    Object.assign(me, { made, form: null, note: { kind: "good", text: "The token was made." } });
  } catch (err) {
    me.note = outcome(err);
  }
  app.soon("tokens");
}

function secret(app, me) {
  const field = () => document.getElementById("secret");
  return h(
    "section",
    { "aria-labelledby": "made", class: "editor" },
    h("h2", { id: "made" }, "Its secret"),
    h(
      "p",
      { class: "alert" },
      h("strong", {}, "Copy it now: it is not shown again. "),
      "The cluster keeps a hash only.",
    ),
    h(
      "label",
      {},
      h("span", {}, "Secret"),
      h("input", { id: "secret", type: "text", class: "key", readonly: true, value: me.made.SecretID }),
    ),
    h("p", { class: "quiet" }, "Accessor: ", h("code", {}, me.made.AccessorID)),
    h(
      "div",
      { class: "actions" },
      h(
        "button",
        {
          type: "button",
          class: "main",
          onclick: async () => {
            field().select();
            try {
              await navigator.clipboard.writeText(me.made.SecretID);
              me.note = { kind: "good", text: "Copied." };
            } catch {
              me.note = { kind: "", text: "This browser does not let a page copy here: the secret is selected." };
            }
            app.draw();
          },
        },
        "Copy",
      ),
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            Object.assign(me, { made: null, note: null });
            app.draw();
          },
        },
        "I have kept it",
      ),
    ),
  );
}

const called = (t) => [t.Name, t.Description, t.AccessorID, t.Certificate, ...(t.Policies ?? []).map((p) => p.Name)];

// fitting are the tokens that have what is looked for.
const fitting = (me) =>
  me.list.filter((t) => called(t).some((x) => x?.toLowerCase().includes(me.only.toLowerCase())));

function listing(app, me) {
  const list = fitting(me);
  return h(
    "section",
    { "aria-labelledby": "all-tokens" },
    h("h2", { id: "all-tokens" }, "All tokens", h("span", { class: "count" }, group(me.list.length))),
    me.list.length > 5 && input(app, me, "only", "Only those with"),
    list.length === 0 && h("p", { class: "empty" }, "There is none."),
    me.uses.gap(),
    h(
      "ul",
      { class: "list" },
      list.slice(0, maxShown).map((t) => row(me, t)),
    ),
    list.length > maxShown && h("p", { class: "quiet" }, `The first ${maxShown} of ${plural(list.length, "token")}.`),
  );
}

const row = (me, t) =>
  h(
    "li",
    { key: t.AccessorID },
    h(
      "p",
      {},
      h("strong", {}, h("a", { href: address("token", { a: t.AccessorID }) }, title(t))),
      t.Name && t.Description && h("span", { class: "quiet" }, name(t.Description)),
    ),
    h(
      "p",
      {},
      (t.Policies ?? []).length === 0 && h("span", { class: "quiet" }, "no policy"),
      (t.Policies ?? []).map((p) => h("span", { class: "role" }, p.Name)),
    ),
    h("p", { class: "quiet" }, me.uses.of(t), " · ", ends(t)),
  );

const ends = (t) => (t.ExpirationTime ? `expires ${time(t.ExpirationTime)}` : "does not expire");

// title is what people call a token.
export const title = (t) => name(t.Name || t.Description || t.AccessorID);
