// The page of a cluster without tokens: in health, as a person uses it, during the kill of the master, and without a
// majority.
import {
  api,
  check,
  dir,
  end,
  has,
  hostile,
  masterNow,
  nodes,
  open,
  order,
  pause,
  picture,
  put,
  run,
  show,
  sound,
  statusOf,
  until,
} from "./harness.mjs";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

await put(hostile, hostile);
const reversed = "rtl/\u202eevil\u200b"; // looks like another name
await put(reversed, "v\u202eevil\nlines");
await put("nl/a\nb", "1");
await put(
  "app/config",
  '{"name":"checkout","retries":3,"hosts":["a.example","b.example"],"limit":9007199254740993,"none":{}}',
);
await put("app/flags", "beta");
await put("app/db/host", "10.0.0.7");
await put("app/blob", new Uint8Array([0, 255, 13, 10, 60, 105, 109, 103]));
for (let i = 100; i < 330; i++) await put(`many/${i}`, String(i));
const session = JSON.parse(
  await api("PUT", "/v1/session/create", JSON.stringify({ Name: hostile, TTL: "600s", LockDelay: "1s" })),
).ID;
await api("PUT", `/v1/kv/jobs%2Flock?acquire=${session}`, "me");
await api(
  "POST",
  `/v1/lease/${encodeURIComponent(hostile)}/acquire`,
  JSON.stringify({ Owner: hostile, TTL: "30s" }),
);

const parts = [
  ["cluster", "#cluster", "All 3 voters are heard"],
  ["keys", "#keys", "app/"],
  ["below", "#keys?p=app%2F", "config"],
  ["key", "#key?k=app%2Fconfig", "9007199254740993"],
  ["bytes", "#key?k=app%2Fblob", "00 ff 0d 0a"],
  ["hostile", "#key?k=" + encodeURIComponent(hostile), hostile],
  ["reversed", "#keys?p=rtl%2F", "⟨U+202E⟩evil⟨U+200B⟩"],
  ["its value", "#key?k=" + encodeURIComponent(reversed), "v⟨U+202E⟩evil"],
  ["two lines", "#keys?p=nl%2F", "a⟨U+000A⟩b"],
  ["a name of two lines", "#key?k=" + encodeURIComponent("nl/a\nb"), "nl/a⟨U+000A⟩b"],
  ["absent", "#key?k=none", "There is no such key."],
  ["new", "#key?k=app%2F&n=1", "Expires in"],
  ["locks", "#locks", hostile],
  ["backup", "#backup", "This node was given no archive"],
  ["access", "#access", "asks nobody for a token"],
];

for (const [width, scheme] of [
  [1280, "light"],
  [320, "dark"],
]) {
  await run(`each part at ${width} px, ${scheme}`, async () => {
    const page = await open(nodes[0], { width, scheme });
    for (const [name, fragment, text] of parts) {
      await show(page, fragment, text);
      await sound(page, `${name} at ${width} px`);
    }
    await page.context().close();
  });
}

await run("pictures", async () => {
  if (!process.env.TENURE_UI_PICTURES) return;
  for (const [width, scheme] of [
    [1280, "light"],
    [1280, "dark"],
    [360, "light"],
    [360, "dark"],
  ]) {
    const page = await open(nodes[0], { width, scheme });
    for (const [name, fragment, text] of parts) {
      await show(page, fragment, text);
      if (name === "cluster") await pause(5000);
      await picture(page, `${name}-${width}-${scheme}`);
    }
    await page.context().close();
  }
});

await run("it asks politely", async () => {
  const page = await open(nodes[0]);
  for (const part of ["cluster", "keys", "locks"]) {
    await show(page, "#" + part, part === "cluster" ? "Master lease" : part === "keys" ? "app/" : "Sessions");
    await pause(1500);
    page.requests.length = 0;
    await pause(5000);
    check(
      `${part}: requests in 5 s`,
      page.requests.length <= (part === "cluster" ? 10 : 8) && page.requests.length >= 2,
      String(page.requests.length),
    );
  }
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await pause(1200);
  page.requests.length = 0;
  await pause(3500);
  check("requests while hidden", page.requests.length === 0, page.requests.join(" "));
  await page.context().close();
});

await run("by keyboard", async () => {
  const page = await open(nodes[0]);
  await has(page, "Master lease");
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("Tab");
  check("the first stop", (await focused()) === "Skip to the content", await focused());
  for (const name of ["Tenure", "Cluster", "Keys"]) {
    await page.keyboard.press("Tab");
    check("the next stop", (await focused()) === name, `${await focused()}, want ${name}`);
  }
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  check("the focus is seen", outline === "solid", outline);
  await page.keyboard.press("Enter");
  await has(page, "keys here and below");
  await page.getByLabel("Key or prefix").focus();
  await page.keyboard.type("app/");
  await page.keyboard.press("Enter");
  await has(page, "config");
  await pause(3500); // it has asked again meanwhile
  await page.getByRole("link", { name: "config" }).focus();
  await pause(3500);
  check("the focus stays", (await focused()) === "config", await focused());
  await page.context().close();
});

await run("pages of keys", async () => {
  const page = await open(nodes[0]);
  await show(page, "#keys?p=many%2F", "230 keys here and below");
  const seen = new Set();
  for (let i = 0; i < 3; i++) {
    await until(
      "the page",
      async () => (await page.locator(".names li > a").first().textContent()) === String(100 + 100 * i),
    );
    for (const name of await page.locator(".names li > a").allTextContents()) seen.add(name);
    if (i < 2) await page.getByRole("link", { name: "Next page" }).click();
  }
  check("keys on all pages", seen.size === 230, String(seen.size));
  await page.context().close();
});

await run("a value is edited", async () => {
  const page = await open(nodes[0]);
  await show(page, "#key?k=app%2Fflags", "beta");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Value").fill("gamma\n");
  await page.getByLabel("Flags").fill("18446744073709551615");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await has(page, "Saved.");
  await has(page, "18446744073709551615");
  check("the value", (await api("GET", "/v1/kv/app%2Fflags?raw")) === "gamma\n");

  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Value").fill("mine");
  await put("app/flags", "theirs");
  await has(page, "Somebody has changed the key");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await has(page, "Nothing was changed");
  check("theirs is shown", (await page.getByLabel("Theirs").inputValue()) === "theirs");
  check("mine is kept", (await page.getByLabel("Yours").inputValue()) === "mine");
  check("the store keeps theirs", (await api("GET", "/v1/kv/app%2Fflags?raw")) === "theirs");
  await sound(page, "a conflict");
  await picture(page, "conflict-1280-light");
  await page.getByRole("button", { name: "Save mine over theirs" }).click();
  await has(page, "Saved.");
  check("the store has mine", (await api("GET", "/v1/kv/app%2Fflags?raw")) === "mine");

  await show(page, "#key?k=app%2Fblob", "00 ff 0d 0a");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Value").fill("00 ff 0d 0a 01");
  await page.getByLabel("Expires in").fill("10m");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await has(page, "in 9m5");
  await show(page, "#key?k=app%2Fnew&n=1", "New key");
  await page.getByLabel("Value").fill(hostile);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await has(page, "Created at");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await has(page, "There is no such key.");
  check("it is gone", (await api("GET", "/v1/kv/app%2Fnew?raw")) === null);
  await page.context().close();
});

await run("a watch", async () => {
  const page = await open(nodes[1]);
  await show(page, "#keys?p=app%2F", "config");
  await page.getByRole("button", { name: "Watch" }).click();
  await has(page, "Live");
  await put("app/" + hostile, hostile);
  await has(page, "app/" + hostile);
  await api("DELETE", "/v1/kv/" + encodeURIComponent("app/" + hostile));
  await has(page, "deleted");
  await sound(page, "a watch");
  await picture(page, "watch-1280-light");
  await page.context().close();
});

await run("a session is ended", async () => {
  const page = await open(nodes[0]);
  await show(page, "#locks", "jobs/lock");
  await page.getByRole("button", { name: /End session/ }).click();
  await page.locator("dialog").getByText("1 key will be released").waitFor();
  await sound(page, "a question");
  await page.locator("dialog").getByRole("button", { name: "End session" }).click();
  await has(page, "The session has ended.");
  check("it is gone", (await api("GET", "/v1/session/list")) === "[]");
  await page.context().close();
});

await run("a backup is downloaded", async () => {
  const page = await open(nodes[0]);
  await show(page, "#backup", "Download a backup");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download" }).click(),
  ]);
  await file.saveAs(join(dir, "open.backup"));
  await page.context().close();
});

await run("plans, drains and transfers", async () => {
  const page = await open(nodes[0]);
  await show(page, "#cluster", "Members");
  const old = await masterNow();
  const other = [1, 2, 3].find((n) => n !== old);
  await page.getByRole("button", { name: `Remove node ${other}` }).click();
  await page.locator("dialog").getByText("is settled").waitFor();
  await sound(page, "a plan");
  await picture(page, "plan-1280-light");
  await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
  check("nothing was begun", JSON.parse(await api("GET", "/v1/members")).operations.length === 0);

  await page.getByRole("button", { name: `Drain node ${other}` }).click();
  await page.locator("dialog").getByRole("button", { name: "Drain" }).click();
  await has(page, `Node ${other} is drained.`);
  check("the node is drained", (await statusOf(nodes[other - 1])).draining === true);
  await page.getByRole("button", { name: `End drain of node ${other}` }).click();
  await has(page, "has ended");

  await page.getByRole("button", { name: `Make master of node ${other}` }).click();
  await page.locator("dialog").getByRole("button", { name: "Hand over" }).click();
  await page.getByRole("heading", { name: `Node ${other} is master` }).waitFor();
  await has(page, `Node ${other} gained the lease`);
  check("the nodes agree", (await masterNow()) === other);
  await page.context().close();
});

await run("the master is killed", async () => {
  const old = await masterNow();
  const left = [1, 2, 3].filter((n) => n !== old);
  const page = await open(nodes[left[0] - 1], { quiet: true });
  const lost = await open(nodes[old - 1], { quiet: true });
  for (const p of [page, lost]) await has(p, "All 3 voters are heard");
  await order(`kill ${old}`);
  const now = await masterNow();
  await page.getByRole("heading", { name: `Node ${now} is master` }).waitFor();
  await has(page, `Node ${old} is not connected`);
  await sound(page, "without a node");
  await picture(page, "killed-1280-light");
  await has(lost, `Node ${old} does not answer`);
  check("nothing can be done there", (await lost.locator(".members button").count()) === 0);
  check(
    "the others are named",
    (await lost.locator(".alerts").getByRole("link").allTextContents()).join() ===
      left.map((n) => `node ${n}`).join(),
  );
  await sound(lost, "a node that does not answer");
  await picture(lost, "silent-1280-light");
  await show(lost, "#keys", "Nothing can be written here: the node does not answer.");
  await sound(lost, "keys of a node that does not answer");

  await order(`kill ${now}`);
  const last = left.find((n) => n !== now);
  const alone = await open(nodes[last - 1], { quiet: true, width: 360, scheme: "dark" });
  await has(alone, "that is no majority: nothing can be written");
  await sound(alone, "without a majority");
  await picture(alone, "alone-360-dark");
  await show(alone, "#keys?p=app%2F", "config");
  await has(alone, "No master answers.");
  await sound(alone, "old keys");
  for (const [name, fragment] of [
    ["locks", "#locks"],
    ["backup", "#backup"],
    ["key", "#key?k=app%2Fconfig"],
  ]) {
    await show(alone, fragment, "There is no master.");
    await sound(alone, `${name} without a majority`);
  }
  await order(`start ${old}`);
  await order(`start ${now}`);
  await show(alone, "#cluster", "All 3 voters are heard");
  await until("an answer", async () => (await lost.locator(".alert").count()) === 0);
});

writeFileSync(join(dir, "done"), "");
await end();
