import type { AppError } from "../../platform/errors.ts";
import type { LoadedAuth } from "../auth/project-auth.ts";
import type { EmbedText } from "../store/item-embedder.ts";
import type { ServedGraph } from "./graph-runtime.ts";
import type { HttpApp } from "./project-app.ts";
import type { ProjectConfig } from "./project-config.ts";
import type { ProjectLanguage } from "./project-language.ts";

/** What of a project one language loaded. */
export type ProjectPart = {
  graphs: ReadonlyMap<string, ServedGraph>;
  /** The graphs that did not load and why; the others work. */
  broken: ReadonlyMap<string, AppError>;
  auth: LoadedAuth | undefined;
  httpApp: HttpApp | undefined;
  /** The embedding function of the store, where it is in this language. */
  embed?: EmbedText | undefined;
  /** What of it is not served; it stops nothing. */
  warnings?: string[];
  /** Of the graph library. */
  libraryVersion: string | undefined;
  close(): Promise<void>;
};

export type LoadedProject = Omit<ProjectPart, "libraryVersion" | "warnings"> & {
  config: ProjectConfig;
  libraryVersions: Partial<Record<ProjectLanguage, string | undefined>>;
  /** Warnings for the operator; they stop nothing. */
  warnings: string[];
};
