// Pieces that several parts show.
import { h } from "./dom.js";
import { ending, name } from "./names.js";
import { exact, seen } from "./text.js";

// denial says what a token lacks, and how to give another one.
export const denial = (failure, what) =>
  h(
    "div",
    { class: "alert" },
    h("p", {}, `A token is needed to ${what}. `, h("span", { class: "quiet" }, failure.message)),
    h("p", {}, h("a", { href: "#access" }, "Log in with a token")),
  );

// trouble says why something could not be read.
export const trouble = (failure, what) =>
  failure.denied ? denial(failure, what) : h("div", { class: "alert bad" }, h("p", {}, failure.message));

// outcome says in a sentence what came of a write that failed.
export function outcome(failure) {
  if (failure.inDoubt)
    return { kind: "bad", text: `It is not known whether this was done, or will be: ${failure.message}` };
  return { kind: "bad", text: `Nothing was changed: ${failure.message}` };
}

// press returns the properties of a button that starts work, and cannot be pressed again before it ends.
export function press(app, me, work) {
  return {
    type: "button",
    "aria-disabled": me.working ? "true" : null, // a button that is disabled would lose the focus
    onclick: async () => {
      if (me.working) return;
      me.working = true;
      app.draw();
      try {
        await work();
      } finally {
        me.working = false;
        app.draw();
      }
    },
  };
}

// download has the browser save bytes under a name.
export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  const a = document.createElement("a");
  a.href = url;
  a.download = seen(name); // a system shows it to people too
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// unseenIn tells that a field does not show all characters of a text. lines: it shows ends of lines and tabs, and the
// blanks of its last line alone are of interest.
export function unseenIn(what, text, lines) {
  const hidden = [...new Set(text)].filter((c) => seen(c, lines) !== c).slice(0, 20);
  const blanks = lines ? ending(text) : exact(text) !== text && [h("code", {}, name(text))];
  return [
    hidden.length > 0 &&
      h("p", { class: "alert", role: "status" }, `${what} has characters that the field does not show: `, [
        hidden.map((c) => h("code", {}, c)),
      ]),
    blanks?.length > 0 &&
      h("p", { class: "quiet", role: "status" }, lines ? `${what} ends with ` : `${what} is `, blanks),
  ];
}
