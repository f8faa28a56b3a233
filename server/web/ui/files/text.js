// How numbers, times and bytes are written for people.

// sentence makes a sentence of a text of the API.
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");

export const plural = (n, what) => `${group(n)} ${what}${Number(n) === 1 ? "" : "s"}`;

// group writes a whole number with thin spaces between thousands. Numbers above 2^53 are texts: see json.js.
export const group = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)}\u00a0${units[i]}`;
}

// span writes a length of time.
export function span(ms) {
  if (ms < 1000) return `${Math.round(ms)}\u00a0ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)}\u00a0s`;
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
  return `${whole}\u00a0${unit}` + (rest ? ` ${rest}\u00a0${parts[i + 1][1]}` : "");
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
  return d.toDateString() === new Date().toDateString() ? clock.format(d) : `${day.format(d)} ${clock.format(d)}`;
}

export const ago = (ms) => `${span(Math.max(0, Date.now() - ms))} ago`;
