// How numbers, times, bytes and texts of others are written for people.

// unseen is what nobody would see in a text, and what changes the order of the text around it: controls, formats, spaces
// of other widths, parts of characters, and what has no sign of its own.
const unseen =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]|\p{Default_Ignorable_Code_Point}/gu;

const marked = (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
// blank writes a run of one blank or line end as its number.
export const blank = (run) => (run.length === 1 ? marked(run) : `⟨${run.length} × ${marked(run).slice(1)}`);

// exact writes the blanks at the ends of a name, and several in a row, as their number: for titles and labels.
export const exact = (name) => String(name).replace(/ {2,}|^ | $/g, blank);

const isLine = (c) => c === "\n" || c === "\t";

// seen writes the number of each unseen character in its place. lines: ends of lines and tabs stay.
export const seen = (text, lines) => text.replace(unseen, (c) => (lines && isLine(c) ? c : marked(c)));

const maxMarked = 200; // unseen characters of a text that have an element of their own

// parts cuts a text at its unseen characters, and returns [text, unseen] for each part. lines: ends of lines and tabs are
// seen.
export function parts(text, lines) {
  const list = [];
  let from = 0;
  for (const { 0: c, index } of text.matchAll(unseen)) {
    if (lines && isLine(c)) continue;
    if (list.length === 2 * maxMarked) break;
    list.push([text.slice(from, index), false], [marked(c), true]);
    from = index + c.length;
  }
  list.push([seen(text.slice(from), lines), false]);
  return list.filter(([part]) => part !== "");
}

// sentence makes a sentence of a text of the API.
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

export const plural = (n, what) => `${group(n)} ${what}${Number(n) === 1 ? "" : "s"}`;

// group writes a whole number with commas between thousands. Numbers above 2^53 are texts: see json.js.
export const group = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

// span writes a length of time.
export function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const parts = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const i = parts.findIndex(([size]) => s >= size);
  const [size, unit] = parts[i];
  const whole = Math.floor(s / size);
  const rest = i + 1 < parts.length ? Math.floor((s - whole * size) / parts[i + 1][0]) : 0;
  return `${whole} ${unit}` + (rest ? ` ${rest} ${parts[i + 1][1]}` : "");
}

// milliseconds reads one of the API's lengths of time, such as 1m2.5s.
export function milliseconds(text) {
  const unit = { h: 3600e3, m: 60e3, s: 1e3, ms: 1, µs: 1e-3, ns: 1e-6 };
  let sum = 0;
  for (const [, n, u] of String(text).matchAll(/([\d.]+)(ms|µs|ns|h|m|s)/g)) sum += Number(n) * unit[u];
  return sum;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

export function time(date) {
  const d = new Date(date);
  const text = d.toDateString() === new Date().toDateString() ? clock.format(d) : `${day.format(d)} ${clock.format(d)}`;
  return text.replace(/[\u00a0\u202f]/g, " ").replace(/\p{Cf}/gu, ""); // the browser's, and nobody's name
}

export const ago = (ms) => `${span(Math.max(0, Date.now() - ms))} ago`;
