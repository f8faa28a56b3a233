// JSON with whole numbers that no number of JavaScript can hold: revisions, flags and tokens go up to 2^64.

// parse is JSON.parse, but whole numbers of 16 digits and more become texts.
export function parse(text) {
  return JSON.parse(
    pieces(text)
      .map(([piece, quoted]) => (quoted ? piece : piece.replace(/\d{16,}/g, '"$&"')))
      .join(""),
  );
}

// pretty indents JSON. It keeps every number and every text as it is written; what is no JSON it throws at.
export function pretty(text) {
  JSON.parse(text);
  let out = "",
    depth = 0,
    fresh = false; // fresh: a bracket was opened, and nothing is in it yet
  const line = () => "\n" + "  ".repeat(depth);
  const add = (piece) => {
    out += (fresh ? line() : "") + piece;
    fresh = false;
  };
  for (const [piece, quoted] of pieces(text)) {
    if (quoted) {
      add(piece);
      continue;
    }
    for (const c of piece.replace(/\s+/g, "")) {
      if (c === "{" || c === "[") {
        add(c);
        depth++;
        fresh = true;
      } else if (c === "}" || c === "]") {
        depth--;
        out += fresh ? c : line() + c;
        fresh = false;
      } else if (c === ",") out += "," + line();
      else if (c === ":") out += ": ";
      else add(c);
    }
  }
  return out;
}

// pieces cuts JSON into texts in quotes and what is between them.
function pieces(text) {
  const list = [];
  for (let at = 0; at < text.length;) {
    let from = text.indexOf('"', at);
    if (from < 0) from = text.length;
    if (from > at) list.push([text.slice(at, from), false]);
    if (from === text.length) break;
    let to = from + 1;
    for (;;) {
      to = text.indexOf('"', to);
      if (to < 0) {
        to = text.length;
        break;
      }
      let slashes = 0;
      while (text[to - 1 - slashes] === "\\") slashes++;
      to++;
      if (slashes % 2 === 0) break;
    }
    list.push([text.slice(from, to), true]);
    at = to;
  }
  return list;
}
