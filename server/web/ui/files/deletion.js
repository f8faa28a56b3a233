// The deletion of several keys and folders: the plan says which, and one transaction deletes all of them or none. A
// key is deleted only if it still has the revision at which the person saw it, and a folder only if no key in it was
// made or changed since its keys were counted.
import { get, path, write } from "./api.js";
import { parse } from "./json.js";
import { confirm, h } from "./dom.js";
import { name } from "./names.js";
import { outcome } from "./parts.js";
import { group, plural } from "./text.js";

export const maxDeleted = 100; // keys and folders in a plan; a transaction takes 128 operations
const maxBelow = 100000; // keys of all folders of a plan: while they are deleted the cluster does nothing else

// A plan is a list of {key, revision} and, for a folder, {key, revision, keys}: how many keys it had at that revision.

// counted says how many keys and folders are chosen, of a list of [name, revision], where a folder has none.
export function counted(list) {
  const folders = list.filter(([, revision]) => revision == null).length;
  const keys = list.length - folders;
  return [keys > 0 && plural(keys, "key"), folders > 0 && plural(folders, "folder")].filter(Boolean).join(" and ");
}

// remove deletes what is chosen, a map from a key to its revision and from a folder to null, after the person has seen
// the plan. It returns {note, done, changed}: what to tell, whether all is gone, and what somebody has changed since.
export async function remove(chosen) {
  const list = [...chosen].slice(0, maxDeleted);
  let plan;
  try {
    plan = await Promise.all(list.map(planned));
  } catch (err) {
    return { done: false, changed: [], note: outcome(err) };
  }
  const below = plan.reduce((sum, p) => sum + (p.keys ?? 0), 0);
  if (below > maxBelow) return tooMany(below);
  if (!(await sure(list, plan, below))) return null;
  try {
    await write("PUT", "v1/txn", { body: transaction(plan) });
    return { done: true, changed: [], note: { kind: "good", text: `${whole(list, below)} deleted.` } };
  } catch (err) {
    const failed = err.code === "condition" || err.code === "denied" ? failures(err.message, plan) : [];
    if (failed.length === 0) return { done: false, changed: [], note: outcome(err) };
    const changed = err.code === "condition" ? failed.map((f) => f.key) : [];
    return { done: false, changed, note: told(err.code, failed) };
  }
}

// planned counts the keys of a folder. The count and its revision are of one moment.
async function planned([key, revision]) {
  if (revision != null) return { key, revision };
  const { data, headers } = await get(path("v1/kv/", key), { count: true });
  return { key, keys: data, revision: headers.get("X-Consul-Index") };
}

const whole = (list, below) =>
  counted(list) + (list.some(([, revision]) => revision == null) ? ` with ${plural(below, "key")}` : "");

const tooMany = (below) => ({
  done: false,
  changed: [],
  note: {
    kind: "bad",
    text:
      `Nothing was changed: the folders have ${plural(below, "key")}, and the page deletes at most ` +
      `${group(maxBelow)} at once. Choose smaller ones, or use kvctl.`,
  },
});

const sure = (list, plan, below) =>
  confirm(
    `Delete ${whole(list, below)}?`,
    [
      h(
        "div",
        { class: "plan", tabindex: 0, role: "region", "aria-label": "What will be deleted" },
        h("ul", {}, plan.map(shown)),
      ),
      h(
        "p",
        {},
        "All of it is deleted, or nothing: nothing if somebody has changed one of these keys meanwhile",
        list.some(([, revision]) => revision == null) && ", or has made or changed one in a folder",
        ".",
      ),
    ],
    "Delete",
    true,
  );

const shown = (p) =>
  h(
    "li",
    {},
    h("code", {}, name(p.key)),
    h(
      "span",
      { class: "quiet" },
      p.keys == null ? ` revision ${group(p.revision)}` : ` and all below: ${plural(p.keys, "key")}`,
    ),
  );

// transaction is its body. A revision may be larger than a number of JavaScript, and is then a text here.
const transaction = (plan) => `[${plan.map(operation).join()}]`;

const operation = ({ key, revision, keys }) => {
  const verb = keys == null ? "delete-cas" : "delete-tree-cas";
  return `{"KV":{"Verb":"${verb}","Key":${JSON.stringify(key)},"Index":${revision}}}`;
};

// failures are the keys and folders whose deletion failed, with the reasons.
function failures(text, plan) {
  try {
    return parse(text)
      .Errors.map((e) => ({ key: plan[e.OpIndex]?.key, why: e.What }))
      .filter((f) => f.key != null);
  } catch {
    return [];
  }
}

const told = (code, failed) => ({
  kind: "bad",
  text:
    code === "denied"
      ? "Nothing was deleted: the token may not delete "
      : `Nothing was deleted: somebody has changed ${failed.length === 1 ? "this" : "these"} since: `,
  keys: failed,
});

// report shows a note, with the keys that it is about.
export const report = (note) =>
  note &&
  h(
    "div",
    { class: "alert " + note.kind, role: "status" },
    h("p", {}, note.text),
    note.keys &&
      h(
        "ul",
        {},
        note.keys.map((f) => h("li", {}, h("code", {}, name(f.key)), h("span", { class: "quiet" }, " " + f.why))),
      ),
  );
