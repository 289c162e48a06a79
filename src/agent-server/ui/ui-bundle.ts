/** One project's components of one name, made into what a browser loads. */
export type UiBundle = { script: UiFile; style: UiFile | undefined };

export type UiFile = { name: string; contentType: string; text: string; etag: string };

/** The task of the thread that bundles. */
export type UiTask = {
  /** Under which name of the project file. */
  name: string;
  /** The file that exports the components, from the project's folder. */
  file: string;
  directory: string;
  /** Packages the page brings along, besides React. */
  shared: readonly string[];
};

/** A file as it was when it was read; undefined when it was not there. */
export type SeenFile = { path: string; mtimeMs: number | undefined };

export type UiTaskResult =
  | { kind: "built"; script: string; style: string | undefined; seen: SeenFile[] }
  /** Each with file, line and column where they are known. */
  | { kind: "failed"; problems: string[] };

/** Under what the bundle is known in the page: the client's own convention. */
export function globalNameOf(name: string): string {
  return `__LGUI_${name.replace(/[^a-zA-Z0-9]/g, "_")}`;
}
