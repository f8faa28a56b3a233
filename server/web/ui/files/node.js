// What only the node itself tells of itself.
import { h } from "./dom.js";
import { bytes, group, plural, span } from "./text.js";

// thisNode is what only the node itself tells.
export function thisNode(s) {
  const items = [
    ["Role", s.role + (s.draining ? ", drained" : "")],
    ["Version", s.version],
    ["Running for", span(s.uptime_ms)],
    ["Revision", group(s.revision)],
    ["Log: chosen", group(s.chosen)],
    ["Log: applied", group(s.applied)],
    ["Log: checkpointed", group(s.checkpointed)],
    ["Log: truncated", group(s.truncated)],
    ["Disk: log", bytes(s.disk.log_bytes)],
    ["Disk: state", bytes(s.disk.state_bytes)],
    ["Disk: free", bytes(s.disk.free_bytes)],
    s.disk.quota_bytes > 0 && ["Disk: quota", bytes(s.disk.quota_bytes)],
    ["Named leases", group(s.leases.records)],
    ["Waiting for leases", plural(s.leases.waiting, "request")],
    ["Guardian", s.guardian.pid ? `process ${s.guardian.pid}` : (s.guardian.problem ?? "none")],
    ["Feature level", group(s.feature_level)],
  ];
  return h(
    "section",
    { "aria-labelledby": "node" },
    h("h2", { id: "node" }, `This node`),
    h(
      "dl",
      { class: "facts" },
      items.filter(Boolean).map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))),
    ),
  );
}
