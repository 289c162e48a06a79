import { Hono } from "hono";

/** Served beside the agent server's own paths. */
export const app = new Hono();

app.get("/hello/:name", (c) =>
  c.json({ hello: c.req.param("name"), deployment: process.env.LANGSMITH_DEPLOYMENT_NAME ?? null }),
);

app.post("/echo", async (c) => c.text(await c.req.text()));
