import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTracesApp, type TracesApp } from "../support/traces-app.ts";

const run = promisify(execFile);
const version = "0.14.17";
const script = path.join(import.meta.dirname, "langsmith-python", "methods.py");

let subject: TracesApp;
let folder: TempFolder;
beforeAll(async () => {
  subject = await createTracesApp();
  folder = await createTempFolder("python");
});
afterAll(async () => {
  await folder?.remove();
  await subject?.stop();
});

/** Why the package cannot be had here, if it cannot: tests need npm and Debian, PyPI is extra. */
async function install(python: string): Promise<string | undefined> {
  try {
    await run("python3", ["-m", "venv", folder.path]);
    await run(python, [
      "-m",
      "pip",
      "install",
      "-q",
      "--retries",
      "1",
      "--timeout",
      "15",
      `langsmith==${version}`,
    ]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test("every method of the unmodified Python client is served", { timeout: 300_000 }, async ({ skip }) => {
  const python = path.join(folder.path, "bin", "python");
  const trouble = await install(python);
  if (trouble !== undefined) {
    console.warn(`The Python client ${version} cannot be had here, so its methods are NOT tried: ${trouble}`);
    skip("The Python client cannot be had here: no python3 with venv, or no PyPI.");
  }
  const { url } = await subject.listen();
  const environment = { PATH: process.env.PATH, HOME: folder.path };
  const { stdout } = await run(python, [script, url, subject.app.apiKey], { env: environment });
  expect(stdout).toMatch(/^\d+ methods$/m);
});
