// How busy the node was in the last minutes, as small curves.
import { h } from "./dom.js";
import { group, plural, span } from "./text.js";

const width = 240,
  height = 48; // of a drawing, in units that CSS stretches

// charts shows a history of the API. at is when it came.
export function charts(history, at) {
  const all = history?.samples.length > 0 ? curves(history) : [];
  return h(
    "section",
    { "aria-labelledby": "history" },
    h("h2", { id: "history" }, "The last ten minutes"),
    all.length === 0 &&
      h("p", { class: "quiet" }, "This node has taken no sample yet. The first comes after 5 s."),
    h(
      "ul",
      { class: "charts" },
      all.map((c) => chart(c, history, Date.now() - at)),
    ),
    all.length > 0 &&
      h("p", { class: "quiet" }, "Clients' requests to this node, and how far the others are behind it."),
  );
}

// curves are {name, points, show, floor}: points are [age in ms, value], and floor is the least value that is at the top.
function curves({ samples }) {
  const of = (value) => samples.map((s) => [s.age_ms, value(s)]);
  const nodes = [...new Set(samples.flatMap((s) => s.lags.map((l) => l.node)))].sort((a, b) => a - b);
  const ms = (x) => (x === 0 ? "–" : x >= 1000 ? span(x) : `${x} ms`);
  return [
    {
      name: "Requests a second",
      points: of((s) => s.requests_per_s),
      show: (x) => (x < 100 ? String(x) : group(Math.round(x))),
      floor: 10,
    },
    { name: "99 % answered within", points: of((s) => s.p99_ms), show: ms, floor: 10 },
    ...nodes.map((n) => ({
      name: `Lag of node ${n}`,
      points: of((s) => s.lags.find((l) => l.node === n)?.slots).filter(([, v]) => v !== undefined),
      show: (x) => plural(x, "slot"),
      floor: 10,
    })),
  ];
}

function chart(c, history, older) {
  const values = c.points.map(([, v]) => v);
  const most = Math.max(...values);
  const now = values.at(-1);
  const top = Math.max(c.floor, most);
  const lines = runs(c.points, 2.5 * history.every_ms).map((run) =>
    run.map(([age, v]) => [
      (width * Math.max(0, history.span_ms - age - older)) / history.span_ms,
      height - 1 - ((height - 3) * v) / top,
    ]),
  );
  return h(
    "li",
    { key: c.name },
    h("p", {}, h("span", { class: "quiet" }, c.name), " ", h("strong", {}, c.show(now))),
    h(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${c.name}: ${c.show(now)} now, at most ${c.show(most)} in ten minutes`,
      },
      h("path", { class: "area", d: lines.map((l) => `${path(l)}V${height}H${at(l[0][0])}Z`).join("") }),
      h("path", { class: "line", d: lines.map(path).join("") }),
    ),
    h("p", { class: "quiet most" }, `at most ${c.show(most)}`),
  );
}

// runs cuts points where samples are missing.
function runs(points, gap) {
  const all = [];
  let before = Infinity;
  for (const p of points) {
    if (before - p[0] > gap) all.push([]);
    all.at(-1).push(p);
    before = p[0];
  }
  return all;
}

const at = (x) => x.toFixed(1);

// path draws a line. A single point is drawn as a short one.
const path = (line) =>
  line.map(([x, y], i) => `${i === 0 ? "M" : "L"}${at(x)} ${at(y)}`).join("") + (line.length === 1 ? "h1" : "");
