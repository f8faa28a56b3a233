// What a person has typed is not lost without a question, and keys are shown at once when there is no master.
import {
  answer,
  api,
  check,
  end,
  has,
  nodes,
  open,
  order,
  pause,
  put,
  run,
  show,
  sound,
  statusOf,
  until,
} from "./harness.mjs";

await put("app/config", "first");
await put("app/other", "another");

const value = (page) => page.getByLabel("Value");
const question = (page) => page.locator("dialog").getByText("Leave without saving?");

// edit begins to edit app/config, and types a text.
async function edit(page, text) {
  await show(page, "#key?k=app%2Fconfig", "first");
  await page.getByRole("button", { name: "Edit" }).click();
  await value(page).fill(text);
}

await run("an edit is not lost by a link", async () => {
  const page = await open(nodes[0]);
  await edit(page, "typed");
  for (const leave of [
    () => page.getByRole("link", { name: "Locks" }).click(),
    () => page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "app/" }).click(),
    () => page.evaluate(() => history.back()),
    () => page.evaluate(() => (location.hash = "#key?k=app%2Fother")),
    () => page.getByRole("button", { name: "Cancel" }).click(),
  ]) {
    await leave();
    await question(page).waitFor();
    await sound(page, "a question about an edit");
    await answer(page, "Cancel");
    await pause(200);
    check("what was typed stays", (await value(page).inputValue()) === "typed", String(leave));
    check("the address stays", page.url().endsWith("#key?k=app%2Fconfig"), page.url());
  }
  await page.getByRole("link", { name: "Locks" }).click();
  await answer(page, "Discard it");
  await has(page, "Sessions");
  check("the address is the other one", page.url().endsWith("#locks"), page.url());
  check("nothing was written", (await api("GET", "/v1/kv/app%2Fconfig?raw")) === "first");
  await page.context().close();
});

await run("an edit is not lost by closing the tab", async () => {
  const page = await open(nodes[0]);
  page.removeAllListeners("dialog");
  const asked = [];
  page.on("dialog", async (d) => {
    asked.push(d.type());
    await d.dismiss();
  });
  await edit(page, "typed");
  await page.close({ runBeforeUnload: true });
  await until("the browser's question", () => asked.length > 0);
  check("it is about leaving", asked.join() === "beforeunload", asked.join());
  check("what was typed stays", (await value(page).inputValue()) === "typed");
  await page.context().close();
});

await run("what was not changed is left without a question", async () => {
  const page = await open(nodes[0]);
  await edit(page, "first");
  await page.getByRole("button", { name: "Hex" }).click();
  await page.getByRole("link", { name: "Locks" }).click();
  await has(page, "Sessions");
  await show(page, "#key?k=app%2Fconfig", "first");
  await page.getByRole("button", { name: "Edit" }).click();
  await value(page).fill("second");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await has(page, "Saved.");
  await page.getByRole("link", { name: "Locks" }).click();
  await has(page, "Sessions");
  await put("app/config", "first");
  await page.context().close();
});

await run("an edit is not lost by somebody else's", async () => {
  const page = await open(nodes[0]);
  await edit(page, "mine");
  await api("DELETE", "/v1/kv/app%2Fconfig");
  await has(page, "Somebody has changed the key");
  check("what was typed stays", (await value(page).inputValue()) === "mine");
  await put("app/config", "first");
  await pause(2500);
  check("what was typed stays still", (await value(page).inputValue()) === "mine");
  await page.context().close();
});

await run("blanks and what nobody sees", async () => {
  const page = await open(nodes[0], { width: 320 });
  const key = "blank/two  in a row\u00a0x ";
  const shown = "two⟨2 × U+0020⟩in a row⟨U+00A0⟩x⟨U+0020⟩";
  await put("blank/plain", "1");
  await put(key, "ends \nwith\n");
  await show(page, "#keys?p=blank%2F", "plain");
  check("the list", (await page.locator(".names li > a").allTextContents()).includes(shown));
  await page.getByLabel("Key or prefix").fill("blank/\u200b ");
  await has(page, "The name has characters that the field does not show");
  await sound(page, "a list of blanks");
  await page.getByRole("link", { name: "in a row" }).click();
  await has(page, "ends⟨U+0020⟩");
  const texts = () =>
    page.evaluate(() => ({
      title: document.title,
      heading: document.querySelector("h1").textContent,
      value: document.querySelector(".value").textContent,
    }));
  const { title, heading, value: text } = await texts();
  check("the title", title.startsWith("blank/" + shown + " – "), title);
  check("the heading", heading === "blank/" + shown, heading);
  check("the value", text === "ends⟨U+0020⟩\nwith⟨U+000A⟩", text);
  await sound(page, "a key of blanks");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog code").getByText(shown).waitFor();
  await sound(page, "a question about blanks");
  await answer(page, "Cancel");
  await page.getByRole("button", { name: "Edit" }).click();
  await has(page, "The value ends with ⟨U+000A⟩");
  await page.getByLabel("Value").fill("a\u00a0b");
  await has(page, "The value has characters that the field does not show: ⟨U+00A0⟩");
  await sound(page, "an edit of blanks");
  await page.getByRole("button", { name: "Cancel" }).click();
  await answer(page, "Discard it");
  await has(page, "ends⟨U+0020⟩"); // the edit is over
  await show(page, "#key?k=blank%2F%20&n=1", "New key");
  await has(page, "The key is blank/⟨U+0020⟩");
  await show(page, "#keys?p=" + encodeURIComponent("blank/ "), "No key begins with that.");
  check("the heading of a prefix", (await page.locator("h1").textContent()) === "blank/⟨U+0020⟩");
  await page.context().close();
});

await run("the list tells what there is about keys", async () => {
  const page = await open(nodes[0], { width: 320 });
  await put("about/sub/1", "1");
  await put("about/sub/2", "2");
  await api("PUT", "/v1/kv/about%2Fshort?ttl=1h", "12345");
  const session = JSON.parse(await api("PUT", "/v1/session/create", "{}")).ID;
  await api("PUT", `/v1/kv/about%2Flock?acquire=${session}`, "me");
  const entry = JSON.parse(await api("GET", "/v1/kv/about%2Fshort"))[0];
  await show(page, "#keys?p=about%2F", "2 keys");
  const row = (text) => page.locator(".names li").filter({ hasText: text });
  const short = await row("short").textContent();
  check("a key", /^short5 B · revision \d+ · expires in 59m/.test(short), short);
  check("its revision", short.includes(`revision ${entry.ModifyIndex} `), short);
  check("a lock", (await row("lock").first().textContent()).endsWith("locked"));
  check("a folder", (await row("sub/").textContent()) === "sub/2 keys", await row("sub/").textContent());
  await sound(page, "what there is about keys");
  for (let i = 0; i < 6; i++) await put(`about/more${i}`, "");
  await page.getByLabel("Only those with").fill("SHO");
  await has(page, "1 of 9 names");
  check("the filter", (await page.locator(".names li").count()) === 1);
  await page.context().close();
});

await run("several keys are deleted", async () => {
  const page = await open(nodes[0], { quiet: true, width: 320, scheme: "dark" });
  for (const name of ["1", "2", "3 ", "sub/x"]) await put("del/" + name, "old");
  await show(page, "#keys?p=del%2F", "sub/");
  await page.getByLabel("Choose 1").check();
  await page.getByRole("button", { name: "Choose all keys shown" }).click();
  await page.getByLabel("Choose 2").uncheck();
  await page.getByRole("button", { name: "Delete 2 keys" }).click();
  await page.locator("dialog").getByText("Delete 2 keys?").waitFor();
  const plan = await page.locator("dialog .plan li code").allTextContents();
  check("the plan", plan.join() === "del/1,del/3⟨U+0020⟩", plan.join());
  await sound(page, "a plan of a deletion");
  await put("del/1", "new"); // while the person reads
  await answer(page, "Delete");
  await has(page, "Nothing was deleted: somebody has changed this since");
  check("it is named", (await page.locator(".alert li code").allTextContents()).join() === "del/1");
  check("nothing is deleted", (await api("GET", "/v1/kv/del%2F?count")) === "4");
  await sound(page, "a deletion that was refused");
  await page.getByRole("button", { name: "Delete 1 key" }).click();
  await answer(page, "Delete");
  await has(page, "1 key deleted.");
  const left = JSON.parse(await api("GET", "/v1/kv/del%2F?keys"));
  check("the others stay", left.join() === "del/1,del/2,del/sub/x", left.join());
  await page.context().close();
});

await run("a folder is deleted", async () => {
  const page = await open(nodes[0], { quiet: true, width: 320, scheme: "dark" });
  for (const name of ["x/1", "x/2", "x/deep/3", "xy", "y/1", "z"]) await put("fold/" + name, "old");
  await show(page, "#keys?p=fold%2F", "xy");
  await page.getByLabel("Choose folder x/").check();
  await page.getByRole("button", { name: "Delete 1 folder" }).click();
  const dialog = page.locator("dialog");
  await dialog.getByText("Delete 1 folder with 3 keys?").waitFor();
  const plan = () => dialog.locator(".plan li").allTextContents();
  check("the plan", (await plan()).join() === "fold/x/ and all below: 3 keys", (await plan()).join());
  await sound(page, "a plan of the deletion of a folder");
  await put("fold/x/new", "theirs"); // while the person reads
  await answer(page, "Delete");
  await has(page, "Nothing was deleted: somebody has changed this since");
  check("it is named", (await page.locator(".alert li code").allTextContents()).join() === "fold/x/");
  check("nothing is deleted", (await api("GET", "/v1/kv/fold%2F?count")) === "7");
  await sound(page, "the deletion of a folder that was refused");
  await page.getByLabel("Choose folder x/").check();
  await page.getByLabel("Choose z").check();
  await page.getByRole("button", { name: "Delete 1 key and 1 folder" }).click();
  await dialog.getByText("Delete 1 key and 1 folder with 4 keys?").waitFor();
  await api("DELETE", "/v1/kv/fold%2Fx%2F1"); // what is gone already does not matter
  await answer(page, "Delete");
  await has(page, "1 key and 1 folder with 4 keys deleted.");
  const left = JSON.parse(await api("GET", "/v1/kv/fold%2F?keys"));
  check("the others stay", left.join() === "fold/xy,fold/y/1", left.join());
  await page.context().close();
});

await run("a folder of very many keys is not deleted", async () => {
  const page = await open(nodes[0], { quiet: true });
  await put("vast/sub/1", "");
  await page.route("**/v1/kv/vast%2Fsub%2F?count=*", (route) => route.fulfill({ body: "100001" }));
  await show(page, "#keys?p=vast%2F", "sub/");
  await page.getByLabel("Choose folder sub/").check();
  await page.getByRole("button", { name: "Delete 1 folder" }).click();
  await has(page, "the folders have 100,001 keys, and the page deletes at most 100,000 at once");
  check("nothing is asked", !(await page.locator("dialog").isVisible()));
  await page.context().close();
});

await run("the filter looks behind the page", async () => {
  const page = await open(nodes[0], { width: 320 });
  const names = Array.from({ length: 650 }, (_, i) => `find/${1000 + i}`);
  names.push("find/1300-Needle", "find/1649-needle/below");
  for (let i = 0; i < names.length; i += 100) {
    const ops = names.slice(i, i + 100).map((Key) => ({ KV: { Verb: "set", Key } }));
    await api("PUT", "/v1/txn", JSON.stringify(ops));
  }
  await show(page, "#keys?p=find%2F", "1000");
  await page.getByLabel("Only those with").fill("needle");
  await has(page, "0 of 100 names looked through, and there are more");
  const more = page.getByRole("button", { name: "Look through 500 more" });
  page.requests.length = 0;
  await more.click();
  await has(page, "1 of 600 names looked through, and there are more");
  await sound(page, "a filter that looks further");
  const asked = page.requests.filter((url) => url.includes("limit=501"));
  check("one bounded listing", asked.length === 1, page.requests.join(" "));
  await page.getByLabel("Only those with").fill("1000");
  await has(page, "1 of 100 names looked through, and there are more"); // another text is looked for anew
  await page.getByLabel("Only those with").fill("needle");
  await more.click();
  await has(page, "1 of 600 names looked through, and there are more");
  await more.click();
  await has(page, "2 of 652 names");
  check("there are no more", (await more.count()) === 0);
  const found = await page.locator(".names li > a").allTextContents();
  check("what was found", found.join() === "1300-Needle,1649-needle/", found.join());
  await page.getByRole("button", { name: "Choose all keys shown" }).click();
  await page.getByRole("button", { name: "Delete 1 key " }).click();
  await page.locator("dialog").getByText("find/1300-Needle").waitFor();
  await answer(page, "Delete");
  await has(page, "1 key deleted.");
  check("it is gone", (await api("GET", "/v1/kv/find%2F?count")) === "651");
  await has(page, "0 of 100 names looked through"); // what was found may be gone
  await page.context().close();
});

await run("without a master", async () => {
  const page = await open(nodes[2], { quiet: true, width: 320, scheme: "dark" });
  const edited = await open(nodes[2], { quiet: true });
  await edit(edited, "typed before");
  await order("kill 1");
  await order("kill 2");
  await until("that no master is known", async () => (await statusOf(nodes[2])).master === 0);
  await has(page, "There is no master.");
  const began = Date.now();
  await show(page, "#keys?p=app%2F", "config");
  check("keys are shown at once", Date.now() - began < 1500, `after ${Date.now() - began} ms`);
  await has(page, "This is as this node has it, and may be old");
  await has(page, "Nothing can be written: there is no master.");
  await sound(page, "keys without a master");
  await show(page, "#key?k=app%2Fconfig", "first");
  await has(page, "Nothing can be written: there is no master.");
  await sound(page, "a key without a master");
  const edits = page.getByRole("button", { name: "Edit" });
  check("Edit says so", (await edits.getAttribute("aria-disabled")) === "true");
  await edits.click({ force: true });
  check("nothing can be typed", (await page.locator("textarea").count()) === 0);
  await show(page, "#key?k=nothing", "There is no such key.");
  await has(page, "Nothing can be written: there is no master.");

  await has(edited, "Nothing can be written: there is no master.");
  check("what was typed stays", (await value(edited).inputValue()) === "typed before");
  check("it is no change of somebody", (await edited.getByText("Somebody has changed").count()) === 0);
  await sound(edited, "an edit without a master");
  await order("start 1");
  await order("start 2");
  await until("that it can be saved", async () => (await edited.locator("#why-not").count()) === 0);
  await edited.getByRole("button", { name: "Save", exact: true }).click();
  await has(edited, "Saved.");
  check("it is saved", (await api("GET", "/v1/kv/app%2Fconfig?raw")) === "typed before");
  await edited.context().close();
  await page.context().close();
});

await end();
