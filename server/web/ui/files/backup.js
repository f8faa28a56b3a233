// The part Backup: how far the archive is, and a backup to download.
import { ask, hasToken } from "./api.js";
import { h } from "./dom.js";
import { May, off, whyFor } from "./may.js";
import { download, press } from "./parts.js";
import { ago, bytes, group, plural, span, time } from "./text.js";

const maxInMemory = 512 << 20; // bytes of a backup that the browser cannot write to a file as they come

// What a backup takes of a token, as far as it can be asked for: also everything that is in it.
const needs = [
  ["operator", "read"],
  ["acl", "read"],
];

export function open(app) {
  const me = { note: null, got: 0 };
  me.may = new May(app, () => needs);
  return {
    title: "Backup",
    sources: [me.may.source()],
    view: () => [h("h1", {}, "Backup"), app.status && archive(app.status), save(app, me)],
  };
}

function archive(s) {
  const a = s.archive;
  const head = h("h2", { id: "archive" }, "Archive");
  if (!a) {
    return h(
      "section",
      { "aria-labelledby": "archive" },
      head,
      h("p", { class: "empty" }, "This node was given no archive: ", h("code", {}, "kvnode --archive"), "."),
    );
  }
  const copy = (c) =>
    c ? h("span", {}, `revision ${group(c.revision)}, made ${time(c.made_ms)}, ${ago(c.made_ms)}`) : "none";
  const items = [
    ["Target", h("code", {}, a.target)],
    [
      "Written by",
      a.node ? `node ${a.node}${a.node === s.node ? ", this one" : ""}` : "nobody, as far as this node has heard",
    ],
  ];
  if (a.known) {
    items.push(
      ["Lag", a.lag_slots === 0 ? "none" : `${span(a.lag_ms)}, ${plural(a.lag_slots, "slot")}`],
      ["Reaches to", `${time(a.reached_ms)}, slot ${group(a.slot)}`],
      ["Newest full copy", copy(a.full)],
      [
        "Newest verified",
        a.verified ? h("span", {}, copy(a.verified), `; verified ${ago(a.verified.verified_ms)}`) : "none",
      ],
    );
  }
  return h(
    "section",
    { "aria-labelledby": "archive" },
    head,
    a.problem && h("p", { class: "alert bad" }, a.problem),
    a.gap &&
      h(
        "p",
        { class: "alert bad" },
        `The archive has a gap: slots ${group(a.gap.first)} to ${group(a.gap.last)} are not in it` +
          (a.gap.found_ms ? `. It went on behind it ${time(a.gap.found_ms)}.` : ", and the gap grows."),
      ),
    h(
      "dl",
      { class: "facts" },
      items.map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, v))),
    ),
    !a.known &&
      h("p", { class: "quiet" }, "This node does not know how far the archive is: ask the one that writes it."),
  );
}

const fileName = () => `tenure-${new Date().toISOString().slice(0, 19).replace(/:/g, "")}.backup`;

function save(app, me) {
  const lacks = me.may.lacks()[0];
  return h(
    "section",
    { "aria-labelledby": "download" },
    h("h2", { id: "download" }, "Download a backup"),
    h(
      "p",
      {},
      "It has every key and session, and the hashes of tokens, as of now. ",
      "It is not encrypted: keep it where nobody else reads it.",
    ),
    me.note && h("p", { class: "alert " + me.note.kind, role: "status" }, me.note.text),
    h(
      "div",
      { class: "actions" },
      hasToken() || lacks
        ? h(
            "button",
            { ...allowed(me, lacks, press(app, me, () => fetchBackup(app, me))), class: "main" },
            me.working ? `${bytes(me.got)} …` : "Download",
          )
        : h("a", { class: "button main", href: "../v1/backup", download: fileName() }, "Download"),
    ),
    lacks && whyFor(me.may, lacks, "need-backup"),
    h("p", { class: "quiet" }, "Check that it is whole: ", h("code", {}, "kvctl backup verify FILE")),
  );
}

const allowed = (me, lacks, props) => (lacks ? off("need-backup", props) : props);

// fetchBackup downloads with the token, which a link cannot send.
async function fetchBackup(app, me) {
  me.note = null;
  me.got = 0;
  let file;
  try {
    file = await window.showSaveFilePicker?.({ suggestedName: fileName() });
  } catch {
    return; // the person has cancelled
  }
  const out = await file?.createWritable();
  const pieces = [];
  try {
    const { response } = await ask("GET", "v1/backup", { stream: true });
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      me.got += value.length;
      if (out) await out.write(value);
      else if (me.got > maxInMemory) {
        await reader.cancel();
        throw new Error(`This browser can keep ${bytes(maxInMemory)} at most: use kvctl backup create.`);
      } else pieces.push(value);
      app.draw();
    }
    if (out) await out.close();
    else download(new Blob(pieces), fileName());
    me.note = { kind: "good", text: `${bytes(me.got)} were received.` };
  } catch (err) {
    await out?.abort();
    me.note = { kind: "bad", text: `The backup is not whole, and was not kept. ${err.message}` };
  }
}
