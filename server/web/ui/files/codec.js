// Values are bytes. They are shown as text, as JSON or in hexadecimal, and edited as text or in hexadecimal.

export function fromBase64(text) {
  const raw = atob(text ?? "");
  return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

// toText returns bytes as text, or null if they are none that a text field would give back unchanged: it makes every
// end of a line one character, and drops nothing else.
export function toText(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return /[\0-\x08\x0b-\x1f\x7f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

// start returns at most max bytes of what may be text, and no half of a character.
export function start(bytes, max) {
  let end = Math.min(max, bytes.length);
  while (end < bytes.length && end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}

export const fromText = (text) => new TextEncoder().encode(text);

export function toHex(bytes) {
  const lines = [];
  for (let i = 0; i < bytes.length; i += 16) {
    lines.push(Array.from(bytes.subarray(i, i + 16), (b) => b.toString(16).padStart(2, "0")).join(" "));
  }
  return lines.join("\n");
}

// fromHex reads what toHex writes, with any white space. It returns null if that is no hexadecimal.
export function fromHex(text) {
  const digits = text.replace(/\s+/g, "");
  if (digits.length % 2 || /[^0-9a-f]/i.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (b) => parseInt(b, 16));
}

// dump is toHex with offsets and what can be read.
export function dump(bytes) {
  return toHex(bytes)
    .split("\n")
    .map((line, i) => {
      const row = bytes.subarray(16 * i, 16 * i + 16);
      const seen = Array.from(row, (b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : "·")).join("");
      return `${(16 * i).toString(16).padStart(6, "0")}  ${line.padEnd(47)}  ${seen}`;
    })
    .join("\n");
}
