// Pieces of the parts about tokens and policies.
import { get } from "./api.js";
import { h } from "./dom.js";
import { name } from "./names.js";

const maxChoices = 100; // policies to choose from that are shown

// aclNav links the parts about tokens and policies.
export const aclNav = (current) =>
  h(
    "nav",
    { class: "sub", "aria-label": "Tokens and policies" },
    [
      ["access", "Your token"],
      ["tokens", "Tokens"],
      ["policies", "Policies"],
    ].map(([part, text]) => h("a", { href: "#" + part, "aria-current": part === current && "page" }, text)),
  );

// uuid draws one. randomUUID is only there on pages that came encrypted.
export function uuid() {
  const raw = crypto.getRandomValues(new Uint8Array(16));
  raw[6] = (raw[6] & 0x0f) | 0x40;
  raw[8] = (raw[8] & 0x3f) | 0x80;
  const hex = Array.from(raw, (b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// policies returns all policies, in the order of their names.
export async function policies() {
  const { data } = await get("v1/acl/policies");
  return data.sort((a, b) => (a.Name < b.Name ? -1 : 1));
}

// input is a text field that keeps what is typed in form[field].
export const input = (app, form, field, label, hint = "") =>
  h(
    "label",
    {},
    h("span", {}, label),
    h("input", {
      type: "text",
      value: form[field],
      autocomplete: "off",
      spellcheck: "false",
      placeholder: hint,
      oninput: (e) => {
        form[field] = e.target.value;
        app.draw();
      },
    }),
  );

// choice lets a person choose policies: form.chosen is the set of their IDs.
export function choice(app, form, all) {
  const wanted = (form.only ?? "").toLowerCase();
  const fits = all.filter((p) => form.chosen.has(p.ID) || p.Name.toLowerCase().includes(wanted));
  const box = (p) =>
    h(
      "li",
      { key: p.ID },
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          checked: form.chosen.has(p.ID),
          onchange: (e) => {
            if (e.target.checked) form.chosen.add(p.ID);
            else form.chosen.delete(p.ID);
            app.draw();
          },
        }),
        h("span", {}, p.Name, p.Description && h("span", { class: "quiet" }, " ", name(p.Description))),
      ),
    );
  return h(
    "fieldset",
    {},
    h("legend", {}, "Policies"),
    all.length > 10 && input(app, form, "only", "Only those with"),
    h("ul", { class: "choices" }, fits.slice(0, maxChoices).map(box)),
    fits.length > maxChoices && h("p", { class: "quiet" }, `The first ${maxChoices} of ${fits.length}.`),
    all.length === 0 && h("p", { class: "empty" }, "There is no policy yet."),
  );
}
