// The deletion of several keys: the plan says which, and one transaction deletes all of them or none, each only if it
// still has the revision at which the person saw it.
import { write } from "./api.js";
import { parse } from "./json.js";
import { confirm, h } from "./dom.js";
import { name } from "./names.js";
import { outcome } from "./parts.js";
import { group, plural } from "./text.js";

export const maxDeleted = 100; // keys in a plan; a transaction takes 128 operations

// remove deletes what is chosen, a map from a key to its revision, after the person has seen the plan. It returns
// {note, done, changed}: what to tell, whether the keys are gone, and the keys that somebody else has changed since.
export async function remove(chosen) {
  const plan = [...chosen].slice(0, maxDeleted);
  const sure = await confirm(
    `Delete ${plural(plan.length, "key")}?`,
    [
      h(
        "div",
        { class: "plan", tabindex: 0, role: "region", "aria-label": "Keys that will be deleted" },
        h("ul", {}, plan.map(planned)),
      ),
      h("p", {}, "All of them are deleted, or none: none if somebody has changed one of them meanwhile."),
    ],
    "Delete",
    true,
  );
  if (!sure) return null;
  try {
    await write("PUT", "v1/txn", { body: transaction(plan) });
    return { done: true, changed: [], note: { kind: "good", text: `${plural(plan.length, "key")} deleted.` } };
  } catch (err) {
    const failed = err.code === "condition" || err.code === "denied" ? failures(err.message, plan) : [];
    if (failed.length === 0) return { done: false, changed: [], note: outcome(err) };
    const changed = err.code === "condition" ? failed.map((f) => f.key) : [];
    return { done: false, changed, note: told(err.code, failed) };
  }
}

const planned = ([key, revision]) =>
  h("li", {}, h("code", {}, name(key)), h("span", { class: "quiet" }, ` revision ${group(revision)}`));

// transaction is its body. A revision may be larger than a number of JavaScript, and is then a text here.
const transaction = (plan) => `[${plan.map(operation).join()}]`;

const operation = ([key, revision]) =>
  `{"KV":{"Verb":"delete-cas","Key":${JSON.stringify(key)},"Index":${revision}}}`;

// failures are the keys whose deletion failed, with the reasons.
function failures(text, plan) {
  try {
    return parse(text)
      .Errors.map((e) => ({ key: plan[e.OpIndex]?.[0], why: e.What }))
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
      : `Nothing was deleted: somebody has changed ${failed.length === 1 ? "this key" : "these keys"} since: `,
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
