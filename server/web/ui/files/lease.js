// The master lease: how much of it was left each time the node was asked.
import { h } from "./dom.js";
import { ago, group, plural } from "./text.js";

export const maxLooks = 60; // answers about the lease that are shown

// lease is how much of the master lease was left at each look.
export function lease(app) {
  const s = app.status,
    l = s.lease;
  const full = l.time_ms || Math.max(1, ...app.looks.map((x) => x.left ?? 0));
  const share = (left) => `${Math.min(100, (100 * (left ?? 0)) / full)}%`;
  const from = `${100 - (100 * app.looks.length) / maxLooks}%`;
  const left = app.failure ? 0 : l.remaining_ms;
  const lefts = app.looks.filter((x) => x.left != null && x.master).map((x) => x.left);
  const range = lefts.length ? `from ${Math.min(...lefts)} to ${Math.max(...lefts)} ms` : "none";
  return h(
    "section",
    { class: "lease", "aria-labelledby": "lease" },
    h("h2", { id: "lease" }, "Master lease"),
    h(
      "div",
      {
        class: "meter",
        role: "meter",
        "aria-labelledby": "lease",
        "aria-valuemin": 0,
        "aria-valuemax": full,
        "aria-valuenow": left,
        "aria-valuetext": `${left} of ${full} ms left`,
      },
      h("span", { vars: { "--share": share(left) } }),
    ),
    h(
      "p",
      { class: "figures" },
      app.failure
        ? "not known"
        : [
            h("strong", {}, `${group(left)} ms`),
            ` of ${group(full)} ms left `,
            h(
              "span",
              { class: "quiet" },
              l.held ? "as its holder counts" : "as this node has heard",
              s.epoch ? ` · epoch ${group(s.epoch)}` : "",
            ),
          ],
    ),
    h(
      "div",
      {
        class: "strip",
        role: "img",
        "aria-label": `Lease left at the last ${plural(app.looks.length, "look")}: ${range}`,
      },
      app.looks.toReversed().map((x) =>
        h("span", {
          class: x.left == null ? "mute" : x.master ? "" : "none",
          vars: { "--share": x.left == null || !x.master ? "100%" : share(x.left) },
        }),
      ),
    ),
    h(
      "p",
      { class: "legend quiet" },
      h("span", { vars: { "--from": from } }, app.looks.length >= maxLooks / 4 && ago(app.looks[0].at)),
      h("span", {}, "now"),
    ),
  );
}
