import { type ChildProcess, fork } from "node:child_process";
import type { FailedReload, StartedAgent } from "../../app/agent.ts";
import type { Failure } from "../failure.ts";
import type { FromGeneration, ToGeneration } from "./generation-messages.ts";

/** Why a generation does not serve. */
export class GenerationFailed extends Error {
  override name = "GenerationFailed";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export type Begin = Omit<Extract<ToGeneration, { kind: "begin" }>, "kind">;

/** The flag that marks a process as a generation. */
export const generationFlag = "--generation";

/** A process that serves the project as it was when it was loaded, on a port of its own. */
export class Generation {
  readonly #child: ChildProcess;
  #isLoaded = false;
  #interrupted: string[] = [];
  /** Resolves when it serves; rejects with GenerationFailed. */
  readonly started: Promise<StartedAgent>;
  /** Resolves when its process is gone. */
  readonly ended: Promise<{ interrupted: string[] }>;

  constructor(begin: Begin) {
    const [, main, ...words] = process.argv;
    this.#child = fork(main!, [...words, generationFlag]);
    const { promise, resolve, reject } = Promise.withResolvers<StartedAgent>();
    this.started = promise;
    // If it is stopped before it serves, this is not awaited.
    this.started.catch(() => undefined);
    this.#child.on("message", (message: FromGeneration) => {
      if (message.kind === "hello") this.#send({ kind: "begin", ...begin });
      else if (message.kind === "loaded") this.#isLoaded = true;
      else if (message.kind === "ready") resolve(message.started);
      else if (message.kind === "failed") reject(new GenerationFailed(message.failure));
      else this.#interrupted = message.interrupted;
    });
    this.ended = new Promise((done) => {
      const over = (failure: Failure) => {
        reject(new GenerationFailed(failure));
        done({ interrupted: this.#interrupted });
      };
      this.#child.once("exit", (code, signal) => over(endedEarly(code, signal)));
      this.#child.once("error", (error) => over({ ...endedEarly(1, null), message: error.message }));
    });
  }

  /** Lets its active work finish. A generation without any yet is ended at once. */
  stop(): Promise<{ interrupted: string[] }> {
    if (this.#isLoaded) this.#send({ kind: "stop" });
    else this.kill();
    return this.ended;
  }

  /** For the people in its studio. */
  tellOutdated(failure: FailedReload): void {
    this.#send({ kind: "outdated", failure });
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #send(message: ToGeneration): void {
    // Without a connection it exits on its own, or has.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }
}

function endedEarly(code: number | null, signal: string | null): Failure {
  const how = signal ? `it was ended by ${signal}` : `it exited with code ${code}`;
  return {
    code: "graph.load_failed",
    message: `The project's process ended before it served: ${how}. See its output for the reason.`,
    exitCode: code || 1,
  };
}
