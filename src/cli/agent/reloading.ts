import { dirname, relative } from "node:path";
import type { StartedAgent } from "../../app/agent.ts";
import type { AgentConfig } from "../../config/index.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Failure } from "../failure.ts";
import { announceWait, type Output } from "../terminal/output.ts";
import { announceAgent, newStudioSecret } from "./announce-agent.ts";
import type { FrontDoor } from "./front-door.ts";
import { Generations, type Loaded, type NotLoaded } from "./generations.ts";
import { ProjectWatch } from "./project-watch.ts";

export type ReloadingOptions = {
  door: FrontDoor;
  /** Where people reach it. */
  url: string;
  port: number;
  /** Whether the studio is opened in a browser. */
  opens: boolean;
  database: { url: string; notes: string[]; kind: "embedded" | "external" };
};

/** How a start fails that a change of the project's files can mend. */
const mendable: readonly number[] = [exitCodes.projectUnusable.code, exitCodes.failure.code];

/** A project that is served and watched, and what is reported about its changes. */
export class Reloading {
  readonly #config: AgentConfig;
  readonly #options: ReloadingOptions;
  readonly #output: Output;
  readonly #generations: Generations;
  readonly #watch: ProjectWatch;
  readonly #unmendable = Promise.withResolvers<Failure>();
  readonly #studioSecret = newStudioSecret();
  #isAnnounced = false;
  #doneWaiting = () => {};

  constructor(config: AgentConfig, options: ReloadingOptions, output: Output) {
    this.#config = config;
    this.#options = options;
    this.#output = output;
    this.#generations = new Generations({
      door: options.door,
      databaseUrl: options.database.url,
      publicUrl: options.url,
      studioSecret: this.#studioSecret,
      onLoaded: (loaded) => this.#loaded(loaded),
      onFailed: (failed) => this.#failed(failed),
      onLost: () =>
        this.#say("red", "Ended", "The server ended by itself. A change of a file starts it again."),
    });
    this.#watch = new ProjectWatch({
      projectFile: config.configPath,
      onChange: (files) => this.#changed(files),
      onProblem: (problem) => output.note(problem),
    });
  }

  /** Resolves only with what no change of a file can mend. */
  async run(): Promise<Failure> {
    await this.#watch.follow();
    this.#doneWaiting = announceWait(this.#output, `Loading ${this.#config.configPath}…`);
    void this.#generations.load([]);
    return this.#unmendable.promise;
  }

  stop(): Promise<{ interrupted: string[] }> {
    this.#watch.close();
    this.#doneWaiting();
    return this.#generations.stop();
  }

  #changed(files: string[]): void {
    void this.#watch.follow();
    void this.#generations.load(files);
  }

  #loaded({ started, tookMs, changed }: Loaded): void {
    this.#doneWaiting();
    if (!this.#isAnnounced) {
      this.#announce(started);
      return;
    }
    const { graphs, broken } = started;
    this.#output.data({ reloaded: true, changed, graphs, broken });
    const what = changed.length === 0 ? "the project" : this.#names(changed);
    const reasons = Object.values(broken);
    this.#say("green", "Reloaded", `${what} in ${(tookMs / 1000).toFixed(1)} s`, ...reasons);
  }

  #announce(started: StartedAgent): void {
    this.#isAnnounced = true;
    const { database, url, port } = this.#options;
    const notes = [...started.notes, ...database.notes];
    const watched = { folder: dirname(this.#config.configPath) };
    const studio = { studioSecret: this.#studioSecret, opens: this.#options.opens };
    const facts = { config: this.#config, database: database.kind, watched, ...studio };
    announceAgent({ ...facts, started: { ...started, url, port, notes } }, this.#output).catch(
      (error: unknown) => this.#output.note(String(error)),
    );
  }

  #failed({ failed: { failure }, keepsServing, changed }: NotLoaded): void {
    this.#doneWaiting();
    if (!this.#isAnnounced && !mendable.includes(failure.exitCode)) {
      this.#unmendable.resolve(failure);
      return;
    }
    const { code, message } = failure;
    this.#generations.tellOutdated({ code, message, changed: changed.map((file) => this.#nameOf(file)) });
    this.#output.data({ reloaded: false, changed, error: { code, message } });
    const [what, then] = keepsServing
      ? (["Not reloaded", "The previous version keeps serving."] as const)
      : (["Not served", "Fix it and save: it is loaded again."] as const);
    this.#say("red", what, message, then);
  }

  #say(color: "green" | "red", what: string, ...lines: string[]): void {
    const { paint, json, note } = this.#output;
    if (!json) note(`${paint(color, what)}  ${lines.join("\n  ")}`);
  }

  #nameOf(file: string): string {
    return relative(dirname(this.#config.configPath), file);
  }

  #names(files: string[]): string {
    const names = files.map((file) => this.#nameOf(file));
    return names.length > 3
      ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`
      : names.join(", ");
  }
}
