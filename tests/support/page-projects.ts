import { quickProject } from "./quick-project.ts";

/** A page that talks to its own server in every way a page can, and reports what came of it. */
const friendly = `<!doctype html><title>A friendly page</title><body><h1>A friendly page</h1><script>
async function work() {
  const json = { "content-type": "application/json" };
  const asked = await fetch("/headers");
  const seen = await asked.json();
  const made = await fetch("/threads", { method: "POST", headers: json, body: "{}" });
  const thread = await made.json();
  const event = await new Promise((resolve, reject) => {
    const source = new EventSource("/events");
    source.onmessage = ({ data }) => { source.close(); resolve(data); };
    source.onerror = () => { source.close(); reject(new Error("no events")); };
  });
  const socket = await new Promise((resolve) => {
    const opened = new WebSocket(location.origin.replace("http", "ws") + "/threads/" + thread.thread_id + "/stream/events");
    opened.onopen = () => { opened.close(); resolve("open"); };
    opened.onerror = () => resolve("refused");
  });
  return { read: asked.status, change: made.status, event, socket, cookie: document.cookie, seen, thread: thread.thread_id };
}
work().then((report) => { window.report = report; }, (error) => { window.report = { failed: String(error) }; });
</script>`;

export const friendlyProject = () =>
  quickProject("friendly", {
    "app.js": `import { Hono } from "hono";
export const app = new Hono();
let marks = [];
for (const path of ["/", "/page"]) app.get(path, (c) => c.html(${JSON.stringify(friendly)}));
app.get("/headers", (c) => c.json(Object.fromEntries(c.req.raw.headers)));
app.get("/events", () => new Response("data: told\\n\\n", { headers: { "content-type": "text/event-stream" } }));
app.get("/secret.js", (c) => c.body("window.secret = 'told'", 200, { "content-type": "text/javascript" }));
app.post("/mark", async (c) => { marks.push(await c.req.text()); return c.text("marked"); });
app.get("/marks", (c) => c.json(marks));
app.get("/plant", (c) => {
  for (const name of ["treadle_page", "treadle_page_entry", "__Host-treadle_page"])
    for (const rest of ["; Path=/", "; Path=/; HttpOnly", "; Domain=localhost", "; Domain=agents.example.test"])
      c.header("set-cookie", name + "=planted-by-the-agent-itself" + rest, { append: true });
  c.header("set-cookie", "mine=1; Path=/", { append: true });
  return c.html("<title>Planted</title>planted");
});
`,
  });

/** Runs in a neighbour's page: everything it can send to another deployment's origin with the visitor's cookies. */
const attack = `async function attack(victim, thread) {
  const report = {};
  const attempt = async (name, act) => {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("no answer")), 10000));
    try { report[name] = { got: (await Promise.race([act(), late])) ?? null }; }
    catch (error) { report[name] = { stopped: String(error).slice(0, 200) }; }
  };
  const all = { credentials: "include" };
  await attempt("read", async () => (await fetch(victim + "/headers", all)).text());
  await attempt("read unseen", async () => {
    const answer = await fetch(victim + "/headers", { ...all, mode: "no-cors" });
    if (answer.type === "opaque") throw new Error("nothing seen");
    return answer.text();
  });
  await attempt("include a script", () => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = victim + "/secret.js";
    script.referrerPolicy = "no-referrer";
    script.onload = () => window.secret ? resolve(window.secret) : reject(new Error("loaded, and told nothing"));
    script.onerror = () => reject(new Error("refused"));
    document.body.append(script);
  }));
  await attempt("change", async () => (await fetch(victim + "/mark", { ...all, method: "POST", body: "cors" })).text());
  await attempt("change unseen", async () => {
    await fetch(victim + "/mark", { ...all, method: "POST", mode: "no-cors", body: "no-cors" });
    throw new Error("sent, and nothing seen");
  });
  await attempt("beacon", async () => {
    navigator.sendBeacon(victim + "/mark", "beacon");
    throw new Error("sent, and nothing seen");
  });
  await attempt("form", () => new Promise((resolve, reject) => {
    const frame = document.createElement("iframe");
    frame.name = "target";
    document.body.append(frame);
    const form = document.createElement("form");
    form.action = victim + "/mark";
    form.method = "POST";
    form.target = "target";
    document.body.append(form);
    frame.onload = () => {
      try { if (frame.contentWindow.location.href === "about:blank") return; resolve(frame.contentWindow.document.body.textContent); }
      catch (error) { reject(error); }
    };
    form.submit();
  }));
  await attempt("socket", () => new Promise((resolve, reject) => {
    const socket = new WebSocket(victim.replace("http", "ws") + "/threads/" + thread + "/stream/events");
    socket.onopen = () => resolve("open");
    socket.onerror = () => reject(new Error("refused"));
  }));
  await attempt("cookies", async () => {
    if (document.cookie === "") throw new Error("there are none");
    return document.cookie;
  });
  return report;
}`;

/** A deployment beside it, whose page goes for the other's. */
export const neighbourProject = () =>
  quickProject("neighbour", {
    "app.js": `import { Hono } from "hono";
export const app = new Hono();
app.get("/", (c) => c.html(${JSON.stringify(`<!doctype html><title>A neighbour</title><body><h1>A neighbour</h1><script>${attack}
const query = new URLSearchParams(location.search);
attack(query.get("victim"), query.get("thread")).then((report) => { window.report = report; });
</script>`)}));
`,
  });
