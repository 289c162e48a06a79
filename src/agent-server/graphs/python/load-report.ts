import type { RemoteFailure } from "./remote-error.ts";

export type PartFailure = { error: RemoteFailure };

export type AppRoute = { path: string; methods: string[] | null; kind: "http" | "websocket" | "mount" };

export type LoadedGraph = {
  graphId: string;
  isFactory: boolean;
  /** As of `OpenedGraph`. */
  isRepeatable: boolean;
  /** Of a graph that is the same for every use; the same for the same nodes and channels. */
  shape: string | null;
};

/** What a Python process says of the project it loaded. */
export type LoadReport = {
  python: string;
  versions: Record<string, string>;
  graphs: (LoadedGraph | ({ graphId: string } & PartFailure))[];
  auth?: { handlers: string[]; authenticates: boolean } | PartFailure;
  app?: { routes: AppRoute[]; hasMiddleware: boolean } | PartFailure;
  embed?: Record<string, never> | PartFailure;
};

export function hasFailed<Part extends object>(part: Part | PartFailure): part is PartFailure {
  return "error" in part;
}

/** What went wrong, and where. */
export function describeFailure({ type, message, file, line }: RemoteFailure): string {
  const place = file ? ` (${file}${line ? `, line ${line}` : ""})` : "";
  return `${type}: ${message.replace(/\.$/, "")}${place}`;
}
