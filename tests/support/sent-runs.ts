import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { TestApp } from "./app.ts";

type Sent = { id: string; name: string };

/** Runs of a project, the newest first. */
export async function sendRuns(app: TestApp, project: string, names: readonly string[]) {
  const runs = names.map((name, index): Sent & Record<string, unknown> => {
    const start = Date.now() - 1_000 * (index + 1);
    return {
      id: randomUUID(),
      name,
      run_type: "chain",
      start_time: new Date(start).toISOString(),
      end_time: new Date(start + 800).toISOString(),
      inputs: { question: `${name}?` },
      outputs: { answer: `${name}!` },
      session_name: project,
    };
  });
  const sent = await app.call("POST", "/api/v1/runs/batch", { body: { post: runs } });
  expect(sent.status).toBeLessThan(300);
  const { body } = await app.call<{ id: string }[]>("GET", `/api/v1/sessions?name=${project}`);
  return { projectId: body[0]!.id, runs };
}
