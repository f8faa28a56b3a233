// What the token may do, asked of the node before a person begins: a button that would be refused says so at once.
import { ask, hasToken } from "./api.js";
import { unwritable } from "./asis.js";
import { h } from "./dom.js";
import { name as shown } from "./names.js";

const every = 10000; // ms
const wait = 3000; // ms
const pause = 300; // ms after the last key that was typed

const nameOf = ([resource, access, segment]) => `${resource}:${access} ${segment ?? ""}`;

// May keeps the answers about the permissions that wants returns, each as [resource, access, name].
export class May {
  constructor(app, wants) {
    Object.assign(this, { app, wants, answers: new Map() });
  }

  // source is one of a Poll.
  source() {
    return { name: "may", every, ask: () => this.ask() };
  }

  // changed has the node asked about what wants returns now.
  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.app.soon("may"), pause);
    this.app.draw();
  }

  async ask() {
    const wanted = this.wants();
    if (!this.app.status?.acl || wanted.length === 0) return;
    const body = JSON.stringify(wanted.map(([Resource, Access, Segment]) => ({ Resource, Access, Segment })));
    try {
      const { data } = await ask("POST", "v1/internal/acl/authorize", { body, wait });
      this.answers = new Map(data.map((a, i) => [nameOf(wanted[i]), a.Allow]));
    } catch {
      this.answers = new Map(); // the node decides about the request itself all the same
    }
    this.app.draw();
  }

  // lacks returns those of the permissions, without an argument of all, that are known to be missing.
  lacks(of = this.wants()) {
    return of.filter((w) => this.answers.get(nameOf(w)) === false);
  }
}

const id = "why-not";

// whyNot says in an alert why nobody can write; null if there is no such reason.
export function whyNot(app) {
  const text = unwritable(app);
  return text ? h("p", { class: "alert", id, role: "status" }, text) : null;
}

// why says in an alert why nothing can be written; null if something can.
export function why(app, may) {
  if (unwritable(app)) return whyNot(app);
  const missing = may.lacks();
  if (missing.length === 0) return null;
  return h("p", { class: "alert", id, role: "status" }, needed(missing), !hasToken() && [" ", logIn()]);
}

const logIn = () => h("a", { href: "#access" }, "Log in with a token");

const maxNeeded = 5; // permissions that are named

// needed says which permissions are missing.
const needed = (missing) => [
  hasToken() ? "This token lacks " : "This needs a token with ",
  missing.slice(0, maxNeeded).map(([resource, access, name], i) => [
    i > 0 && " and ",
    h("code", {}, `${resource}:${access.replace("-prefix", "")}`),
    name != null &&
      name !== "" && [access === "write-prefix" ? " on everything below " : " on ", h("code", {}, shown(name))],
  ]),
  missing.length > maxNeeded && ` and ${missing.length - maxNeeded} more`,
  ".",
];

// barred returns the properties of a button, which does nothing while why says something. It keeps the focus, and is
// described by that text.
export function barred(app, may, props) {
  return unwritable(app) || may.lacks().length > 0 ? off(id, props) : props;
}

// off returns the properties of a button that does nothing, for the reason in the text with that id.
export const off = (by, props) => ({
  ...props,
  "aria-disabled": "true",
  "aria-describedby": by,
  onclick: (e) => e.preventDefault(),
});

// barredFor is barred for a button that needs one permission of several. by is the id of the text of whyFor.
export function barredFor(app, may, want, by, props) {
  if (unwritable(app)) return off(id, props);
  return may.lacks([want]).length > 0 ? off(by, props) : props;
}

// whyFor says that one permission is missing, if it is.
export function whyFor(may, want, by) {
  const missing = may.lacks([want]);
  return missing.length > 0 && h("p", { class: "quiet", id: by }, needed(missing));
}
