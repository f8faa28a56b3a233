// The page of a cluster with tokens says what a token may not do before a person types or presses.
import {
  api,
  as,
  bootstrap,
  check,
  end,
  has,
  logIn,
  nodes,
  open,
  policy,
  put,
  run,
  show,
  sound,
  token,
  until,
} from "./harness.mjs";

const root = await bootstrap();
const asRoot = as(root);
await policy(
  root,
  "reader",
  `key_prefix "app/" { policy = "read" } key "app/mine" { policy = "write" }
   session_prefix "" { policy = "read" }`,
);
const reader = await token(root, ["reader"], { Description: "reader" });
await put("app/shown", "seen", asRoot);
await put("app/mine", "own", asRoot);

await run("a key that may only be read", async () => {
  const page = await open(nodes[1], { quiet: true, width: 320, scheme: "dark" });
  await logIn(page, reader);
  await show(page, "#key?k=app%2Fshown", "seen");
  await has(page, "This token lacks key:write on app/shown.");
  for (const name of ["Edit", "Delete"]) {
    const button = page.getByRole("button", { name });
    check(`${name} says so`, (await button.getAttribute("aria-disabled")) === "true");
    const by = await button.getAttribute("aria-describedby");
    check(`${name} is described`, (await page.locator("#" + by).textContent()).includes("key:write"));
    await button.click({ force: true });
  }
  check("nothing can be typed", (await page.locator("textarea").count()) === 0);
  check("nothing is asked", !(await page.locator("dialog").isVisible()));
  await sound(page, "a key that may only be read");
  await show(page, "#key?k=app%2Fmine", "own");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Value").fill("changed");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await has(page, "Saved.");
  await page.context().close();
});

await run("keys that may only be read", async () => {
  const page = await open(nodes[1], { quiet: true });
  await logIn(page, reader);
  await show(page, "#keys?p=app%2F", "shown");
  await page.getByLabel("Choose mine").check();
  await page.getByLabel("Choose shown").check();
  await has(page, "This token lacks key:write on app/shown.");
  const button = page.getByRole("button", { name: "Delete 2 keys" });
  check("Delete says so", (await button.getAttribute("aria-disabled")) === "true");
  await sound(page, "keys that may only be read");
  await page.getByLabel("Choose shown").uncheck();
  await until("that it may be deleted", async () => (await page.locator("#why-not").count()) === 0);
  await page.context().close();
});

await run("a folder that may only be read", async () => {
  const page = await open(nodes[1], { quiet: true, width: 320 });
  await logIn(page, reader);
  await show(page, "#keys", "app/");
  await page.getByLabel("Choose folder app/").check();
  await has(page, "This token lacks key:write on everything below app/.");
  const button = page.getByRole("button", { name: "Delete 1 folder" });
  check("Delete says so", (await button.getAttribute("aria-disabled")) === "true");
  await sound(page, "a folder that may only be read");
  await page.context().close();
});

await run("sessions that may only be seen, and a backup", async () => {
  await api("PUT", "/v1/session/create", JSON.stringify({ Name: "theirs" }), asRoot);
  const page = await open(nodes[1], { quiet: true, width: 320 });
  await show(page, "#backup", "This needs a token with operator:read.");
  check("there is no link", (await page.getByRole("link", { name: "Download" }).count()) === 0);
  await logIn(page, reader);
  await show(page, "#locks", "This token lacks session:write on ");
  const end = page.getByRole("button", { name: "End session theirs" });
  check("End says so", (await end.getAttribute("aria-disabled")) === "true");
  await end.click({ force: true });
  check("nothing is asked", !(await page.locator("dialog").isVisible()));
  await sound(page, "sessions that may only be seen");
  await show(page, "#backup", "This token lacks operator:read.");
  const save = page.getByRole("button", { name: "Download" });
  check("Download says so", (await save.getAttribute("aria-disabled")) === "true");
  await sound(page, "a backup without permission");
  await page.context().close();
});

await run("a new key", async () => {
  const page = await open(nodes[1], { quiet: true });
  await logIn(page, reader);
  await show(page, "#key?k=app%2F&n=1", "New key");
  await has(page, "This token lacks key:write on app/.");
  await page.getByLabel("Key", { exact: true }).fill("app/mine");
  await until("that it may be written", async () => (await page.locator("#why-not").count()) === 0);
  await page.getByLabel("Key", { exact: true }).fill("app/mine2");
  await has(page, "This token lacks key:write on app/mine2.");
  check(
    "Save says so",
    (await page.getByRole("button", { name: "Save", exact: true }).getAttribute("aria-disabled")) === "true",
  );
  await sound(page, "a new key that may not be written");
  await page.context().close();
});

await end();
