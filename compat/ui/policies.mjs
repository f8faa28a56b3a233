// Tokens and policies on the page: listed, made, narrowed and revoked; a secret is shown once.
import {
  answer,
  api,
  as,
  bootstrap,
  button,
  check,
  end,
  has,
  hostile,
  logIn,
  masterNow,
  nodes,
  open,
  order,
  policy,
  run,
  show,
  sound,
  token,
  until,
} from "./harness.mjs";

const root = await bootstrap();
const asRoot = as(root);
for (const [Name, Rules] of [
  ["reader", 'key_prefix "" { policy = "read" }'],
  ["writer", 'key_prefix "" { policy = "write" }'],
  ["lister", 'acl = "read"'],
])
  await policy(root, Name, Rules, { Description: hostile });
const lister = await token(root, ["lister"], { Name: "lister" });
const status = async (secret, method, path) =>
  (await fetch(nodes[0] + path, { method, body: method === "PUT" ? "x" : undefined, headers: as(secret) })).status;

let made = "";

await run("a token is made, and its secret shown once", async () => {
  const page = await open(nodes[0], { quiet: true });
  await logIn(page, root);
  await page.getByRole("link", { name: "Tokens", exact: true }).click();
  await has(page, "All tokens");
  await sound(page, "tokens");
  await button(page, "New token").click();
  await page.getByLabel("Name").fill(hostile);
  await page.getByLabel("Description").fill("for the tests ");
  await page.getByLabel("Expires in").fill("24h");
  await page.getByLabel("reader").check();
  await page.getByLabel("writer").check();
  await sound(page, "a new token");
  await page.getByRole("link", { name: "Policies", exact: true }).click();
  await page.locator("dialog").getByText("What you have typed").waitFor();
  await answer(page, "Cancel");
  await button(page, "Make it").click();
  await has(page, "Copy it now");
  await sound(page, "a secret");
  made = await page.getByLabel("Secret", { exact: true }).inputValue();
  check("it works", (await status(made, "PUT", "/v1/kv/a")) === 200);
  await page.getByRole("link", { name: "Policies", exact: true }).click();
  await page.locator("dialog").getByText("not shown again").waitFor();
  await answer(page, "Cancel");
  check("it is still shown", (await page.getByLabel("Secret", { exact: true }).inputValue()) === made);
  await button(page, "I have kept it").click();
  await has(page, "for the tests⟨U+0020⟩");
  check("it is not shown again", !(await page.content()).includes(made));
  await page.reload();
  await has(page, "for the tests⟨U+0020⟩");
  const row = page.locator(".list li").filter({ hasText: "for the tests" });
  await until("its use", async () => /last used .* ago on node 1/.test(await row.textContent()));
  check("its secret is not", !(await page.content()).includes(made));
  await page.context().close();
});

await run("the last use of a token on any node", async () => {
  await api("GET", nodes[1] + "/v1/kv/a", undefined, as(made));
  const page = await open(nodes[0], { quiet: true, width: 320 });
  await logIn(page, root);
  await show(page, "#tokens", "All tokens");
  const row = page.locator(".list li").filter({ hasText: "for the tests" });
  await until("its use on another node", async () => /last used .* ago on node 2/.test(await row.textContent()));
  const unused = page.locator(".list li").filter({ hasText: "lister" });
  check("another", /not used since the nodes started/.test(await unused.textContent()), await unused.textContent());
  check("all have told", (await page.getByText("Without an answer").count()) === 0);
  const master = await masterNow();
  const hung = [2, 3].find((n) => n !== master);
  await order(`pause ${hung}`);
  try {
    await has(page, `Without an answer: node ${hung}. A token may have been used there later.`);
    await sound(page, "a member that tells of no uses");
  } finally {
    await order(`resume ${hung}`);
  }
  await until("all tell again", async () => (await page.getByText("Without an answer").count()) === 0);
  await page.locator(".list").getByRole("link", { name: hostile }).click();
  await has(page, "ago on node 2");
  await page.context().close();
});

// meanwhile changes what the page is about to write, between its last read and its write.
const meanwhile = (page, where, body) =>
  page.route(
    where,
    async (route) => {
      if (route.request().method() === "PUT")
        await api("PUT", new URL(route.request().url()).pathname, JSON.stringify(body), asRoot);
      await route.continue();
    },
    { times: 1 },
  );

await run("a policy that two people change", async () => {
  await policy(root, "shared", 'key "a" { policy = "read" }');
  const page = await open(nodes[0], { quiet: true, width: 320, scheme: "dark" });
  await logIn(page, root);
  await show(page, "#policies", "All policies");
  await page.locator(".list").getByRole("link", { name: "shared" }).click();
  await button(page, "Change").click();
  const mine = 'key "mine" { policy = "read" }';
  const theirs = { Name: "shared", Description: "by them", Rules: 'key "theirs" { policy = "read" }' };
  await page.getByLabel("Rules").fill(mine);
  await meanwhile(page, "**/v1/acl/policy/*", theirs);
  await button(page, "Save").click();
  await has(page, "Nothing was changed: somebody has changed this policy since.");
  check("theirs is shown", (await page.getByLabel("Theirs").inputValue()) === theirs.Rules);
  await has(page, "by them");
  check("mine is kept", (await page.getByLabel("Rules").inputValue()) === mine);
  const rules = async () => JSON.parse(await api("GET", "/v1/acl/policy/name/shared", undefined, asRoot)).Rules;
  check("the cluster has theirs", (await rules()) === theirs.Rules, await rules());
  await sound(page, "a conflict about a policy");
  await meanwhile(page, "**/v1/acl/policy/*", { ...theirs, Rules: 'key "again" { policy = "read" }' });
  await button(page, "Save mine over theirs").click();
  await until("what they wrote then", async () => (await page.getByLabel("Theirs").inputValue()).includes("again"));
  check("the cluster has that", (await rules()).includes("again"), await rules());
  await button(page, "Save mine over theirs").click();
  await has(page, "Saved.");
  check("the cluster has mine", (await rules()) === mine, await rules());
  await button(page, "Change").click();
  await page.getByLabel("Rules").fill('key "typed" { policy = "read" }');
  await meanwhile(page, "**/v1/acl/policy/*", theirs);
  await button(page, "Save").click();
  await has(page, "Theirs, revision");
  await button(page, "Keep theirs").click();
  await has(page, 'key "theirs"');
  check("the cluster keeps theirs", (await rules()) === theirs.Rules, await rules());
  await page.context().close();
});

await run("a token is narrowed and revoked", async () => {
  const page = await open(nodes[0], { quiet: true, width: 320, scheme: "dark" });
  await logIn(page, root);
  await show(page, "#tokens", "All tokens");
  await page.locator(".list").getByRole("link", { name: hostile }).click();
  await has(page, "Accessor");
  await sound(page, "a token");
  await button(page, "Change").click();
  await page.getByLabel("writer").uncheck();
  await sound(page, "a token that is changed");
  await button(page, "Save").click();
  await page.locator("dialog").getByText("Taken away: writer.").waitFor();
  await page.locator("dialog").getByText("Given: nothing.").waitFor();
  await sound(page, "what is taken from a token");
  await answer(page, "Change it");
  await has(page, "Saved.");
  check("it may write no more", (await status(made, "PUT", "/v1/kv/a")) === 403);
  check("it may read", (await status(made, "GET", "/v1/kv/a")) === 200);

  await button(page, "Change").click();
  await page.getByLabel("reader").uncheck();
  const accessor = new URL(page.url()).hash.replace("#token?a=", "");
  await meanwhile(page, "**/v1/acl/token/*", { Description: "theirs" });
  await button(page, "Save").click();
  await answer(page, "Change it");
  await has(page, "somebody has changed this token since");
  await page.locator(".facts").getByText("theirs").waitFor();
  check("what was typed stays", (await page.getByLabel("Description").inputValue()) === "for the tests ");
  await sound(page, "a conflict about a token");
  const now = () => api("GET", "/v1/acl/token/" + accessor, undefined, asRoot);
  check("nothing was changed", (await now()).includes("theirs"), await now());
  await button(page, "Save").click();
  await answer(page, "Change it");
  await has(page, "Saved.");
  check("it is as it was typed", (await now()).includes('"for the tests "'), await now());
  await button(page, "Change").click();
  await page.getByLabel("Description").fill("typed");
  await button(page, "Cancel").click();
  await answer(page, "Discard it");

  await button(page, "Revoke").click();
  await page.locator("dialog").getByText("last used").waitFor();
  await sound(page, "a question about a token");
  await answer(page, "Revoke");
  await has(page, "The token was revoked.");
  check("it is refused", (await status(made, "GET", "/v1/kv/a")) === 403);
  const self = JSON.parse(await api("GET", "/v1/acl/token/self", undefined, asRoot)).AccessorID;
  await show(page, "#token?a=" + self, "it cannot revoke itself");
  check("nobody revokes oneself", (await button(page, "Revoke").count()) === 0);
  await page.context().close();
});

await run("policies", async () => {
  const page = await open(nodes[0], { quiet: true });
  await logIn(page, root);
  await show(page, "#policies", "All policies");
  await sound(page, "policies");
  await button(page, "New policy").click();
  await page.getByLabel("Name").fill("made");
  await page.getByLabel("Rules").fill('key "a" { policy = "reed" }');
  await button(page, "Save").click();
  await has(page, "reed");
  await page.getByLabel("Rules").fill('key "a" { policy = "read" }');
  await button(page, "Save").click();
  await page.getByRole("heading", { name: "made" }).waitFor();
  await has(page, "Tokens that have it");
  await sound(page, "a policy");
  await button(page, "Change").click();
  await page.getByLabel("Rules").fill('key "b" { policy = "read" }');
  await page.getByRole("link", { name: "Locks" }).click();
  await answer(page, "Cancel");
  await button(page, "Save").click();
  await has(page, "Saved.");
  await has(page, 'key "b"');
  await button(page, "Delete").click();
  await page.locator("dialog").getByText("No token has it.").waitFor();
  await answer(page, "Delete");
  await has(page, "All policies");
  await until("that it is gone", async () => (await page.getByRole("link", { name: "made" }).count()) === 0);
  await page.locator(".list").getByRole("link", { name: "lister" }).click();
  await button(page, "Delete").click();
  await page.locator("dialog").getByText("It is taken from 1 token:").waitFor();
  await sound(page, "a question about a policy");
  await answer(page, "Cancel");
  await show(page, "#policy?id=00000000-0000-0000-0000-000000000001", "This policy is built in");
  await page.context().close();
});

await run("with a token that may only look", async () => {
  const page = await open(nodes[0], { quiet: true });
  await logIn(page, lister);
  await show(page, "#tokens", "This token lacks acl:write.");
  check("New token says so", (await button(page, "New token").getAttribute("aria-disabled")) === "true");
  await button(page, "New token").click({ force: true });
  check("nothing can be typed", (await page.getByLabel("Name").count()) === 0);
  await sound(page, "tokens that may only be seen");
  await page.context().close();
});

await end();
