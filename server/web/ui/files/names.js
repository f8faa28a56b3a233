// Names and values of others, with the blanks that nobody would see: at an end, and several in a row where the document
// shows one.
import { h } from "./dom.js";
import { blank } from "./text.js";

const maxMarked = 200; // blanks of a value that have an element of their own

const mark = (run) => h("span", { class: "unseen" }, blank(run));

// name returns what shows a name: a key, a prefix, a session.
export const name = (text) =>
  String(text)
    .split(/( {2,}|^ | $)/)
    .map((part) => (/^ +$/.test(part) ? mark(part) : part));

const isBlank = (c) => c === " " || c === "\t";

// value returns what shows the text of a value in pre: blanks at the ends of its lines and line ends at its own are
// shown, as whoever compares two values looks for them.
export function value(text) {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") end--;
  const lines = text.slice(0, end).split("\n");
  const kids = [];
  let plain = "",
    left = maxMarked;
  lines.forEach((line, i) => {
    let cut = line.length;
    while (left > 0 && cut > 0 && isBlank(line[cut - 1])) cut--;
    plain += (i > 0 ? "\n" : "") + line.slice(0, cut);
    if (cut === line.length) return;
    kids.push(plain, runs(line.slice(cut)));
    plain = "";
    left--;
  });
  return [kids, plain, end < text.length && mark(text.slice(end))];
}

const runs = (text) => (text.match(/ +|\t+/g) ?? []).map(mark);

// ending returns the blanks and line ends at the end of a text, as they are shown; an empty list if there are none.
export function ending(text) {
  let end = text.length;
  while (end > 0 && (isBlank(text[end - 1]) || text[end - 1] === "\n")) end--;
  return (text.slice(end).match(/ +|\t+|\n+/g) ?? []).slice(0, maxMarked).map(mark);
}
