// Why the master changed.
import { h } from "./dom.js";
import { span, time } from "./text.js";

// timeline is why the master changed: what this node has recorded of its own tenures, and what the page has seen.
export function timeline(app) {
  const own = (app.status.lease.changes ?? []).map((c) => ({
    at: Date.parse(c.time),
    kind: c.event,
    text: c.event === "won" ? "This node won the lease" : "This node lost the lease",
    detail: c.detail,
    extra:
      c.event === "lost"
        ? `held for ${span(c.held_ms)}`
        : c.ownerless_ms > 0
          ? `nobody owned it for about ${span(c.ownerless_ms)}`
          : "",
  }));
  const told = (x) =>
    x.master === app.status.node && own.some((c) => c.kind === "won" && Math.abs(c.at - x.at) < 10000);
  const all = [
    ...own,
    ...app.seen.filter((x) => !told(x)).map((x) => ({ ...x, kind: "seen", detail: "seen by this page" })),
  ].sort((a, b) => b.at - a.at);
  const others = app.otherNodes();
  return h(
    "section",
    { "aria-labelledby": "changes" },
    h("h2", { id: "changes" }, "Why the master changed"),
    all.length === 0 &&
      h(
        "p",
        { class: "quiet" },
        "This node has not been master since it was started, and the page has seen no change.",
      ),
    h(
      "ol",
      { class: "timeline" },
      all.map((c) =>
        h(
          "li",
          { class: c.kind, key: c.kind + c.at + c.text },
          h("time", { datetime: new Date(c.at).toISOString() }, time(c.at)),
          h(
            "div",
            {},
            h("p", {}, h("strong", {}, c.text), c.extra && h("span", { class: "quiet" }, ` · ${c.extra}`)),
            c.detail && h("p", { class: "quiet" }, c.detail),
          ),
        ),
      ),
    ),
    others.length > 0 &&
      h(
        "p",
        { class: "quiet" },
        "Each node records its own tenures. See also ",
        others.map((o, i) => [i > 0 && ", ", h("a", { href: o.href }, `node ${o.node}`)]),
        ".",
      ),
  );
}
