import type { FailedReload, StartedAgent } from "../../app/agent.ts";
import type { Failure } from "../failure.ts";

/*
 * What the process that watches a project and those that serve it tell each other. A generation is one process with
 * the project as it was when it was loaded.
 */

export type ToGeneration =
  | {
      kind: "begin";
      databaseUrl: string;
      /** Where people reach it. */
      publicUrl: string;
      /** Graphs the generation before serves: without one of them this one is no better. */
      mustServe: string[];
      /** All generations know who came to the studio by a link. */
      studioSecret: string;
    }
  /** A later version of the project could not be loaded, so this one keeps serving. */
  | { kind: "outdated"; failure: FailedReload }
  | { kind: "stop" };

export type FromGeneration =
  /** It listens to messages. */
  | { kind: "hello" }
  /** The project is loaded; from here on it may have active work. */
  | { kind: "loaded" }
  | { kind: "ready"; started: StartedAgent }
  | { kind: "failed"; failure: Failure }
  | { kind: "stopped"; interrupted: string[] };
