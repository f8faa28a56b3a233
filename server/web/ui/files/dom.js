// Descriptions of elements, and what makes the document like them. Everything that is shown goes through here: text is
// set as text, so that no key and no value is ever taken for markup. What nobody would see of a text is shown as its
// number.
import { parts, seen } from "./text.js";

// h describes an element. Of props, those that begin with "on" are listeners, `vars` are custom properties of CSS,
// `key` tells the element from its siblings, and the others are attributes: null and false leave one out. Kids are
// descriptions and texts: null and false leave one out, and lists are spread. Within pre, texts keep their lines.
export function h(tag, props, ...kids) {
  const list = kids.flat(Infinity).filter((k) => k != null && k !== false && k !== "");
  return { tag, props: props ?? {}, kids: list.flatMap((k) => (typeof k === "object" ? k : pieces(String(k), tag))) };
}

// pieces returns a text with an element for each character in it that nobody would see.
const pieces = (text, tag) =>
  parts(text, tag === "pre").map(([part, unseen]) =>
    unseen ? { tag: "span", props: { class: "unseen" }, kids: [part] } : part,
  );

// title sets the title of the page.
export function title(text) {
  document.title = seen(text);
}

const described = new WeakMap(); // the description that an element was last made like

// patch makes the children of parent like a list of descriptions. Elements that stay are kept, with their focus.
export function patch(parent, kids) {
  const old = [...parent.childNodes];
  const keyed = new Map();
  for (const node of old) {
    const key = described.get(node)?.props.key;
    if (key != null) keyed.set(key, node);
  }
  let free = old.filter((node) => described.get(node)?.props.key == null);
  kids.forEach((kid, i) => {
    const node = reuse(kid, keyed, free) ?? make(kid);
    free = free.filter((n) => n !== node);
    if (parent.childNodes[i] !== node) parent.insertBefore(node, parent.childNodes[i] ?? null);
    update(node, kid);
  });
  while (parent.childNodes.length > kids.length) parent.lastChild.remove();
}

function reuse(kid, keyed, free) {
  if (typeof kid !== "object") return free.find((n) => n.nodeType === Node.TEXT_NODE);
  const like = (n) => n?.nodeType === Node.ELEMENT_NODE && n.localName === kid.tag && described.has(n);
  if (kid.props.key != null) {
    const node = keyed.get(kid.props.key);
    return like(node) ? node : undefined;
  }
  return free.find(like);
}

const drawing = "http://www.w3.org/2000/svg";
const drawn = new Set(["svg", "path"]); // the elements of drawings

function make(kid) {
  if (typeof kid !== "object") return document.createTextNode(kid);
  return drawn.has(kid.tag) ? document.createElementNS(drawing, kid.tag) : document.createElement(kid.tag);
}

function update(node, kid) {
  if (typeof kid !== "object") {
    if (node.data !== String(kid)) node.data = kid;
    return;
  }
  const before = described.get(node)?.props ?? {};
  described.set(node, kid);
  for (const name of Object.keys(before)) if (!(name in kid.props)) set(node, name, null, before[name]);
  for (const [name, value] of Object.entries(kid.props)) {
    if (value !== before[name]) set(node, name, value, before[name]);
  }
  patch(node, kid.kids);
}

// Attributes that are shown or read aloud.
const spoken = /^(aria-label|aria-valuetext|title|placeholder|alt)$/;

// Attributes that only set what an element begins with: the property is what it has now.
const properties = new Set(["value", "checked", "open"]);

function set(node, name, value, before) {
  if (name === "key") return;
  if (name === "vars") {
    for (const key of Object.keys(before ?? {})) if (!(key in (value ?? {}))) node.style.removeProperty(key);
    for (const [key, v] of Object.entries(value ?? {})) node.style.setProperty(key, v);
  } else if (name.startsWith("on")) {
    if (before) node.removeEventListener(name.slice(2), before);
    if (value) node.addEventListener(name.slice(2), value);
  } else if (properties.has(name) && node.localName !== "details") {
    node[name] = value ?? "";
  } else if (value == null || value === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : spoken.test(name) ? seen(String(value)) : value);
  }
}

// confirm asks a person, and returns a promise of the answer. body is a list of descriptions.
export function confirm(title, body, verb, danger) {
  const dialog = document.getElementById("dialog");
  if (dialog.open) return Promise.resolve(false);
  return new Promise((resolve) => {
    let answer = false;
    patch(dialog, [
      h("h2", { id: "dialog-title" }, title),
      ...body,
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          {
            type: "button",
            class: danger ? "danger" : "main",
            onclick: () => {
              answer = true;
              dialog.close();
            },
          },
          verb,
        ),
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel"),
      ),
    ]);
    dialog.addEventListener(
      "close",
      () => {
        patch(dialog, []);
        resolve(answer);
      },
      { once: true },
    );
    dialog.showModal();
  });
}
