import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { SeenFile, UiBundle, UiFile, UiTask, UiTaskResult } from "./ui-bundle.ts";

export type UiBundlesOptions = {
  directory: string;
  /** Name to the file with its components, from the project's folder. */
  files: ReadonlyMap<string, string>;
  shared: readonly string[];
  logger: Logger;
  timeoutMs?: number;
};

type Kept = { bundle: UiBundle; seen: SeenFile[] };

const defaultTimeoutMs = 60_000;
/** A page loads it for every component it shows. */
const maxBytes = 16 * 1024 * 1024;
const maxThreadMb = 512;

// The file beside this one, before and after the build.
const threadFile = new URL(`./ui-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/**
 * The components of a project, bundled on request and again when one of their files has changed. Files are not watched,
 * so a server without requests does nothing. A separate thread does the work and ends afterwards: runs go on meanwhile.
 */
export class UiBundles {
  readonly #options: UiBundlesOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<UiBundle>>();
  readonly #turns = new KeyedLock();
  #thread: Worker | undefined;
  #stopped = false;

  constructor(options: UiBundlesOptions) {
    this.#options = options;
  }

  has(name: string): boolean {
    return this.#options.files.has(name);
  }

  /** So that a mistake is in the log before the first page asks. Never rejects. */
  async warm(): Promise<void> {
    for (const name of this.#options.files.keys()) {
      if (this.#stopped) return;
      await this.get(name).catch((error: unknown) => {
        if (this.#stopped) return;
        this.#options.logger.error({ ui: name, reason: errorMessage(error) }, "components cannot be served");
      });
    }
  }

  async get(name: string): Promise<UiBundle> {
    const kept = this.#kept.get(name);
    if (kept && (await isUnchanged(kept.seen))) return kept.bundle;
    const underWay = this.#underWay.get(name);
    if (underWay) return underWay;
    // One after the other: what a bundle takes of the machine is taken once.
    const work = this.#turns.run("bundler", () => this.#build(name));
    this.#underWay.set(name, work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(name);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#thread?.terminate();
  }

  async #build(name: string): Promise<UiBundle> {
    const { directory, files, shared } = this.#options;
    const file = files.get(name);
    if (file === undefined || this.#stopped) throw new Error(`The components of ${name} are not served.`);
    const result = await this.#runThread({ name, file, directory, shared });
    if (result.kind === "failed") throw bundleFailed(name, file, result.problems);
    const { script, style, seen } = result;
    if (script.length + (style?.length ?? 0) > maxBytes) {
      throw bundleFailed(name, file, [`${file}: the bundle is larger than ${maxBytes / 2 ** 20} MB`]);
    }
    const bundle: UiBundle = {
      script: fileOf("entrypoint.js", "text/javascript; charset=utf-8", script),
      style: style === undefined ? undefined : fileOf("entrypoint.css", "text/css; charset=utf-8", style),
    };
    this.#kept.set(name, { bundle, seen });
    return bundle;
  }

  async #runThread(task: UiTask): Promise<UiTaskResult> {
    const { timeoutMs = defaultTimeoutMs } = this.#options;
    const thread = new Worker(threadFile, {
      workerData: task,
      // Loaders of the project's own code, or of a test runner, have no business in it.
      execArgv: [],
      name: "ui bundle",
      resourceLimits: { maxOldGenerationSizeMb: maxThreadMb },
    });
    this.#thread = thread;
    const gone = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
    let done = false;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<UiTaskResult>((resolve) => {
        const fail = (problem: string) => resolve({ kind: "failed", problems: [`${task.file}: ${problem}`] });
        thread.once("message", (result: UiTaskResult) => {
          done = true;
          resolve(result);
        });
        thread.once("error", (error) => fail(errorMessage(error)));
        thread.once("exit", () => fail("the bundler ended without a result"));
        timer = setTimeout(() => fail(`it was not bundled within ${timeoutMs / 1_000} s`), timeoutMs);
      });
    } finally {
      clearTimeout(timer);
      if (!done) await thread.terminate();
      await gone;
      this.#thread = undefined;
    }
  }
}

async function isUnchanged(seen: readonly SeenFile[]): Promise<boolean> {
  const changed = await Promise.all(
    seen.map(async ({ path, mtimeMs }) => {
      // One that is gone, or cannot be looked at, has changed.
      const now = await stat(path).catch(() => undefined);
      return now?.mtimeMs !== mtimeMs;
    }),
  );
  return !changed.includes(true);
}

function fileOf(name: string, contentType: string, text: string): UiFile {
  return { name, contentType, text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
}

/** The project's fault: a status that clients do not try again. */
function bundleFailed(name: string, file: string, problems: string[]): AppError {
  return new AppError({
    code: "ui.bundle_failed",
    kind: "conflict",
    retryable: false,
    message: `The components of "${name}" (${file}) cannot be bundled:\n  ${problems.join("\n  ")}`,
  });
}
