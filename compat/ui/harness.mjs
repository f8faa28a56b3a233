// What the tests of the web page share: a browser whose every complaint is an error, checks, and words with the test
// that runs this script.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const [program, dir, ...nodes] = process.argv.slice(2); // nodes are the addresses of the API
export const soon = 20000; // ms

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// order has the test do something to the nodes, such as "kill 2".
export async function order(what) {
  console.log("> " + what);
  const { value } = await answers.next();
  if (value !== "done") throw new Error(`${what}: ${value}`);
}

let failed = 0;

export function check(what, ok, more = "") {
  if (!ok) {
    failed++;
    console.log(`FAIL ${what} ${more}`);
  }
}

// run carries out one scenario. TENURE_UI_ONLY, a regular expression, picks those whose names match.
export async function run(name, f) {
  if (process.env.TENURE_UI_ONLY && !new RegExp(process.env.TENURE_UI_ONLY).test(name)) return;
  const began = Date.now();
  try {
    await f();
  } catch (err) {
    check(name, false, err.stack);
  }
  console.log(`${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// until waits for f to return what is true.
export async function until(what, f) {
  for (const end = Date.now() + soon; ;) {
    const x = await f();
    if (x) return x;
    if (Date.now() > end) throw new Error(`${what} does not come`);
    await pause(100);
  }
}

// api asks a node without the browser.
export async function api(method, path, body, headers = {}) {
  const r = await fetch(path.startsWith("http") ? path : nodes[0] + path, { method, body, headers });
  const text = await r.text();
  if (!r.ok && r.status !== 404) throw new Error(`${method} ${path}: ${r.status} ${text}`);
  return r.status === 404 ? null : text;
}

export const statusOf = async (node) => JSON.parse(await api("GET", node + "/v1/status"));

// put writes a key.
export const put = (key, value, headers) => api("PUT", "/v1/kv/" + encodeURIComponent(key), value, headers);

// masterNow waits for a master, and returns its number.
export const masterNow = () =>
  until("a master", async () => {
    for (const node of nodes) {
      const s = await statusOf(node).catch(() => null);
      if (s?.role === "master") return s.node;
    }
  });

// hostile is a name that would become an element if the page took text for markup.
export const hostile = "<img src=x onerror=alert(1)>";

// as returns the headers of a request with a token.
export const as = (secret) => ({ "X-Consul-Token": secret });

// bootstrap makes the first token of a cluster, which may do everything, and returns its secret.
export const bootstrap = async () =>
  JSON.parse(await until("a bootstrap", () => api("PUT", "/v1/acl/bootstrap").catch(() => null))).SecretID;

// policy makes one, as a token may.
export const policy = (root, Name, Rules, more) =>
  api("PUT", "/v1/acl/policy", JSON.stringify({ Name, Rules, ...more }), as(root));

// token makes one that has policies, and returns its secret.
export async function token(root, Policies, more) {
  const body = JSON.stringify({ Policies: Policies.map((Name) => ({ Name })), ...more });
  return JSON.parse(await api("PUT", "/v1/acl/token", body, as(root))).SecretID;
}

const browser = await chromium.launch({
  executablePath: program,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});

// open shows a page of a node. What the browser complains of fails the test: a script that fails, what the policy of
// the page refuses, a dialog that a script opens. Requests that fail are expected where a node is down.
export async function open(address, { width = 1280, scheme = "light", quiet = false } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: scheme,
    acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(soon);
  page.requests = [];
  page.on("request", (r) => page.requests.push(r.url()));
  page.on("pageerror", (err) => check("a script fails", false, err.stack));
  page.on("dialog", (d) => {
    check("a dialog", false, d.message());
    d.dismiss();
  });
  page.on("console", (m) => {
    const absent = /status of 404/.test(m.text()); // a key
    const refused = /Failed to load resource/.test(m.text()) && (quiet || absent);
    if (["error", "warning"].includes(m.type()) && !refused)
      check("the console", false, `${m.type()}: ${m.text()} ${m.location().url}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) =>
      window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`),
    );
  });
  await page.goto(address + "/ui/");
  return page;
}

// show goes to a part of the page, and waits for a text on it.
export async function show(page, fragment, text) {
  await page.evaluate((f) => {
    location.hash = f;
  }, fragment);
  await has(page, text);
}

// logIn gives the page a token, and waits for what it then says.
export async function logIn(page, secret, says = "What it may do") {
  await show(page, "#access", "Secret of the token");
  await page.getByLabel("Secret of the token").fill(secret);
  await page.getByRole("button", { name: "Log in" }).click();
  await has(page, says);
}

// button finds one by its whole name.
export const button = (page, name) => page.getByRole("button", { name, exact: true });

// answer presses a button of the question that is asked.
export const answer = (page, name) => page.locator("dialog").getByRole("button", { name }).click();

export const has = (page, text) => page.locator("#main").getByText(text).first().waitFor();

// sound checks what holds of every state of every part: axe finds nothing serious, nothing is wider than the screen,
// the policy was not violated, and nothing of a key or value became an element.
export async function sound(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const v of found.violations.filter((x) => ["serious", "critical"].includes(x.impact))) {
    check(
      `axe on ${name}`,
      false,
      `${v.id}: ${v.help}: ${v.nodes
        .map((n) => n.html + " " + n.failureSummary)
        .join("; ")
        .slice(0, 600)}`,
    );
  }
  const raw = await page.evaluate(() => {
    const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0\u202f]|\p{Default_Ignorable_Code_Point}/u;
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walk.nextNode()) {
      const text = walk.currentNode.data.replace(/[\n\t]/g, walk.currentNode.parentNode.closest("pre") ? "" : "$&");
      if (walk.currentNode.parentNode.id !== "" || text.trim() === "") continue;
      if (unseen.test(text)) found.push(JSON.stringify(text));
    }
    return found;
  });
  check(`${name} shows what is unseen`, raw.length === 0, raw.join(" "));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(`${name} fits`, wide <= 0, `it is ${wide} px wider than the screen`);
  check(
    `${name}: the policy`,
    (await page.evaluate(() => window.violations)).length === 0,
    JSON.stringify(await page.evaluate(() => window.violations)),
  );
  check(
    `${name}: markup`,
    (await page.locator("#main img, #main script, #main iframe, #main style").count()) === 0,
  );
}

// picture saves what is shown, if pictures are wanted.
export async function picture(page, name) {
  if (process.env.TENURE_UI_PICTURES)
    await page.screenshot({ path: join(process.env.TENURE_UI_PICTURES, name + ".png"), fullPage: true });
}

export async function end() {
  await browser.close();
  console.log(failed === 0 ? "ok" : `${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}
