import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTracesApp, type TracesApp } from "../support/traces-app.ts";

const run = promisify(execFile);

let subject: TracesApp;
beforeAll(async () => {
  subject = await createTracesApp();
});
afterAll(() => subject?.stop());

/** What a Python program of these tests prints. */
async function told(script: string): Promise<string> {
  const { url } = await subject.listen();
  const file = path.join(import.meta.dirname, script);
  const { stdout } = await run(process.env.TREADLE_TEST_PYTHON!, [file, url, subject.app.apiKey], {
    env: { PATH: process.env.PATH },
  });
  return stdout;
}

test("every method of the unmodified client is served", { timeout: 300_000 }, async () => {
  expect(await told("langsmith-methods.py")).toMatch(/^\d+ methods$/m);
});

test("functions are traced, evaluated and compared on a dataset", { timeout: 300_000 }, async () => {
  expect(await told("langsmith-evaluate.py")).toMatch(/^evaluated$/m);
});
