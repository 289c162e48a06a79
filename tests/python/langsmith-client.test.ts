import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTracesApp, type TracesApp } from "../support/traces-app.ts";

const run = promisify(execFile);
const script = path.join(import.meta.dirname, "langsmith-methods.py");

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject?.stop());

test("every method of the unmodified client is served", { timeout: 300_000 }, async () => {
  const { url } = await subject.listen();
  const environment = { PATH: process.env.PATH };
  const python = process.env.TREADLE_TEST_PYTHON!;
  const { stdout } = await run(python, [script, url, subject.app.apiKey], { env: environment });
  expect(stdout).toMatch(/^\d+ methods$/m);
});
