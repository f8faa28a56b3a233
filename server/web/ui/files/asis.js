// Reads that need no master. Without one a node still has the keys that it has applied: they are shown at once, and
// said to be that.
import { get } from "./api.js";
import { h } from "./dom.js";
import { group } from "./text.js";

const patience = 2000; // ms in which the master has to answer; the node gives up one second earlier

// masterless reports whether the node knows of no master.
export const masterless = (app) => app.status != null && app.status.role !== "none" && !app.status.master;

// read asks for keys, and returns {data, headers, asIs}. asIs says why they are as this node has them: "asked" if the
// person wants that, "masterless" if there is no master or it does not answer, else "".
export async function read(app, where, query) {
  let asIs = app.stale ? "asked" : masterless(app) ? "masterless" : "";
  if (!asIs) {
    try {
      return { ...(await get(where, query, { wait: patience })), asIs };
    } catch (err) {
      if (!["not-applied", "overloaded", "unreachable", "unknown"].includes(err.code)) throw err;
      asIs = "masterless";
    }
  }
  try {
    return { ...(await get(where, { ...query, stale: true })), asIs };
  } catch (err) {
    throw Object.assign(err, { asIs });
  }
}

// notice says that what is shown may be old. last is the answer of read, without data if there was none.
export function notice(last) {
  if (!last?.asIs) return null;
  const heard = last.headers?.get("X-Consul-LastContact");
  return h(
    "p",
    { class: "alert", role: "status" },
    last.asIs === "masterless" && h("strong", {}, "No master answers. "),
    "This is as this node has it, and may be old",
    heard && `: it heard from a master ${group(heard)} ms ago`,
    ". ",
    last.asIs === "asked" && h("a", { href: "#keys" }, "Change"),
  );
}

// unwritable says why nothing can be written now; "" if something can.
export function unwritable(app) {
  if (app.failure) return "Nothing can be written here: the node does not answer.";
  if (masterless(app)) return "Nothing can be written: there is no master.";
  return "";
}
