// The part Token: log in, and what the token may do.
import { get, hasToken, useToken } from "./api.js";
import { aclNav } from "./choose.js";
import { h } from "./dom.js";
import { name } from "./names.js";
import { press } from "./parts.js";
import { time } from "./text.js";

export function open(app) {
  const me = { self: null, failure: null, secret: "" };
  async function self() {
    try {
      me.self = (await get("v1/acl/token/self", { expanded: true })).data;
      me.failure = null;
    } catch (err) {
      Object.assign(me, { self: null, failure: err });
    }
    app.draw();
  }
  const sources = [{ name: "self", every: 30000, ask: self }];
  return {
    title: "Token",
    get sources() {
      return hasToken() ? sources : [];
    },
    view: () => view(app, me, self),
  };
}

function view(app, me, self) {
  if (app.status && !app.status.acl) {
    return [
      h("h1", {}, "Token"),
      h(
        "p",
        { class: "empty" },
        "This node asks nobody for a token: it was started without ",
        h("code", {}, "--acl"),
        ".",
      ),
    ];
  }
  return [
    h("h1", {}, hasToken() ? "Token" : "Log in"),
    hasToken() ? [aclNav("access"), known(app, me)] : form(app, me, self),
  ];
}

function form(app, me, self) {
  return h(
    "form",
    { class: "editor", onsubmit: (e) => e.preventDefault() },
    h("p", {}, "The token stays in this tab, until the tab is closed. It is sent to this node only."),
    me.failure && h("p", { class: "alert bad", role: "status" }, me.failure.message),
    h(
      "label",
      {},
      h("span", {}, "Secret of the token"),
      h("input", {
        type: "password",
        autocomplete: "off",
        spellcheck: "false",
        value: me.secret,
        oninput: (e) => {
          me.secret = e.target.value;
        },
      }),
    ),
    h(
      "div",
      { class: "actions" },
      h("button", { ...press(app, me, () => logIn(app, me, self)), type: "submit", class: "main" }, "Log in"),
    ),
  );
}

async function logIn(app, me, self) {
  const secret = me.secret.trim();
  if (!/^[\x21-\x7e]{1,256}$/.test(secret)) {
    me.failure = new Error("That is no token: it is a line of letters, digits and signs.");
    return;
  }
  useToken(secret);
  me.secret = "";
  await self();
  if (me.failure?.code === "unknown-token") useToken("");
  app.use();
}

function known(app, me) {
  const t = me.self;
  const forget = () => {
    useToken("");
    Object.assign(me, { self: null, failure: null });
    app.use();
    app.draw();
  };
  return [
    me.failure && h("p", { class: "alert bad" }, me.failure.message),
    t &&
      h(
        "dl",
        { class: "facts" },
        [
          ["Name", t.Name ? name(t.Name) : "(none)"],
          ["Description", t.Description ? name(t.Description) : "(none)"],
          ["Accessor", h("code", {}, t.AccessorID)],
          ["Expires", t.ExpirationTime ? time(t.ExpirationTime) : "never"],
        ].map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))),
      ),
    t &&
      h(
        "section",
        { "aria-labelledby": "policies" },
        h("h2", { id: "policies" }, "What it may do"),
        t.ExpandedPolicies.length === 0 && h("p", { class: "empty" }, "Nothing: it has no policy."),
        t.ExpandedPolicies.map((p) =>
          h(
            "div",
            { key: p.ID },
            h("h3", {}, p.Name),
            p.Description && h("p", { class: "quiet" }, p.Description),
            h(
              "pre",
              { class: "value", tabindex: 0, role: "region", "aria-label": `Rules of ${p.Name}` },
              p.Rules || "(no rules)",
            ),
          ),
        ),
      ),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: forget }, "Log out")),
  ];
}
