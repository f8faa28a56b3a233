// The page of a cluster with tokens: what it shows without one, how a person logs in, and that the secret stays in the
// tab.
import {
  as,
  bootstrap,
  check,
  dir,
  end,
  has,
  logIn,
  nodes,
  open,
  picture,
  policy,
  put,
  run,
  show,
  sound,
  token,
} from "./harness.mjs";
import { join } from "node:path";

const root = await bootstrap();
await policy(root, "reader", 'key_prefix "app/" { policy = "read" } session_prefix "" { policy = "read" }');
const reader = await token(root, ["reader"], { Description: "for dashboards" });
await put("app/shown", "seen", as(root));
await put("hidden", "secret", as(root));

await run("without a token", async () => {
  const page = await open(nodes[0], { quiet: true });
  await has(page, "A token is needed to see and change the members");
  await sound(page, "the cluster without a token");
  check("the members are seen", (await page.locator(".members li").count()) === 3);
  check("nothing can be done", (await page.locator(".members button").count()) === 0);
  for (const [fragment, what] of [
    ["#keys", "see keys"],
    ["#locks", "see sessions"],
    ["#key?k=hidden", "see this key"],
  ]) {
    await show(page, fragment, `A token is needed to ${what}`);
    await sound(page, fragment);
  }
  check("no secret is shown", !(await page.content()).includes("secret"));
  await logIn(page, "no-such-token", "ACL not found");
  await sound(page, "a wrong token");
  await picture(page, "login-1280-light");
  await page.context().close();
});

await run("with a token that may read some", async () => {
  const page = await open(nodes[1], { quiet: true, width: 320, scheme: "dark" });
  await logIn(page, reader, 'key_prefix "app/"');
  await has(page, "for dashboards");
  await sound(page, "what a token may do");
  await picture(page, "token-320-dark");
  await show(page, "#keys", "app/");
  check("the other key is not listed", (await page.locator(".names li > a").allTextContents()).join() === "app/");
  await show(page, "#key?k=hidden", "Permission denied");
  check("its value is not shown", !(await page.locator("#main").textContent()).includes("secret"));
  await show(page, "#key?k=app%2Fshown", "seen");

  check(
    "the secret is in no address",
    !page.requests.some((url) => url.includes(reader)) && !page.url().includes(reader),
  );
  const kept = await page.evaluate(() => ({
    cookie: document.cookie,
    local: JSON.stringify({ ...localStorage }),
    tab: sessionStorage.length,
    text: document.documentElement.innerHTML,
  }));
  check(
    "the secret is in no cookie and not kept",
    kept.cookie === "" && kept.local === "{}" && kept.tab === 1,
    JSON.stringify(kept),
  );
  check("the secret is not on the page", !kept.text.includes(reader));
  await page.reload();
  await has(page, "seen");
  const other = await page.context().newPage();
  await other.goto(nodes[1] + "/ui/#keys");
  await has(other, "A token is needed");
  await show(page, "#access", "Log out");
  await page.getByRole("button", { name: "Log out" }).click();
  await has(page, "Secret of the token");
  check("the secret is forgotten", (await page.evaluate(() => sessionStorage.length)) === 0);
  await page.context().close();
});

await run("a backup with a token", async () => {
  const page = await open(nodes[0], { quiet: true });
  await logIn(page, root, "global-management");
  await page.evaluate(() => {
    delete window.showSaveFilePicker;
  }); // nobody answers its question here
  await show(page, "#backup", "Newest full copy");
  await has(page, "Written by");
  await sound(page, "an archive");
  await picture(page, "archive-1280-light");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  await file.saveAs(join(dir, "tokens.backup"));
  await has(page, "were received");
  await page.context().close();
});

await end();
