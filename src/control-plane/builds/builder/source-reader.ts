import { rm } from "node:fs/promises";
import { type ArtifactFacts, artifactKey } from "../artifact-key.ts";
import type { ArtifactShelf } from "../artifact-shelf.ts";
import type { Artifact } from "../artifact-store.ts";
import type { BuildRequest, Built, PlaceOf } from "../build-request.ts";
import type { GitSource } from "../git/git-source.ts";
import type { Installer as PythonInstaller } from "../python/plan-python-install.ts";
import { refuseForeignLinks } from "../source-tree.ts";
import { unpackTarball } from "../tarball.ts";

/** A source that has been read, or what was built from it before. */
export type ReadSource = {
  commitSha: string | null;
  /** What the result is kept by, once it is known whether and by what Python packages were installed. */
  keyOf(pythonInstaller: PythonInstaller | null): Promise<string>;
  known: Built | null;
};

/** Where builds run: a result is used again where it would come out the same. */
export type BuildMachine = {
  /** By what Python packages may be installed there, as far as it makes a difference; null: by nothing. */
  installers: readonly (PythonInstaller | null)[];
  describe(installer: PythonInstaller | null): Promise<Pick<ArtifactFacts, "nodeModulesVersion" | "python">>;
  canUse(
    found: Pick<Artifact, "path">,
    facts: { installer: PythonInstaller | null; configPath: string },
  ): Promise<boolean>;
};

const maxFiles = 200_000;
const shownPointers = 10;

/** Brings the source of a build into its folder, unless the same was built before. */
export class SourceReader {
  readonly #git: GitSource;
  readonly #shelf: ArtifactShelf;
  readonly #maxBytes: number;
  readonly #machine: BuildMachine;

  constructor(options: { git: GitSource; shelf: ArtifactShelf; maxBytes: number; machine: BuildMachine }) {
    this.#machine = options.machine;
    this.#git = options.git;
    this.#shelf = options.shelf;
    this.#maxBytes = options.maxBytes;
  }

  async read(request: BuildRequest, configPath: string, tree: string, place: PlaceOf): Promise<ReadSource> {
    const { workspaceId, buildConfig, onLine } = request;
    const source = await request.source(place().signal);
    await request.note(source.kind === "git" ? `Reading ${source.url}` : "Reading the uploaded source", 12);
    const asked = { ...source, workspaceId };
    const commitSha =
      asked.kind === "git" ? (asked.commit ?? (await this.#git.resolve(asked, place()))) : null;
    if (commitSha) {
      onLine(`Commit ${commitSha}`);
      await request.onCommit(commitSha);
    }
    const facts = {
      workspaceId,
      origin:
        source.kind === "git"
          ? { kind: "git" as const, url: source.url, commitSha: commitSha! }
          : { kind: "tarball" as const, sha256: source.sha256 },
      configPath,
      buildConfig,
    };
    const keyOf = async (installer: PythonInstaller | null) =>
      artifactKey({ ...facts, ...(await this.#machine.describe(installer)) });
    const known = await this.#findKnown(workspaceId, configPath, keyOf, place().signal);
    if (known) {
      onLine(`Already built as ${known.key.slice(0, 12)}: nothing to do.`);
      const { key: artifactKey, path, uses_own_auth: usesOwnAuth } = known;
      return { commitSha, keyOf, known: { artifactKey, path, commitSha, usesOwnAuth, cached: true } };
    }
    const limits = { maxBytes: this.#maxBytes, maxFiles };
    if (asked.kind === "git") {
      await request.note(`Fetching ${commitSha!.slice(0, 12)}`, 18);
      const commit = { ...asked, commit: commitSha! };
      const { lfsPointers } = await this.#git.checkOut(commit, tree, place(), limits);
      if (lfsPointers.length > 0) await request.note(lfsText(lfsPointers), 20);
    } else {
      const file = `${tree}.tar.gz`;
      const { signal } = place();
      await asked.save(file, signal);
      await unpackTarball(file, tree, { ...limits, signal });
      await rm(file);
    }
    await refuseForeignLinks(tree);
    return { commitSha, keyOf, known: null };
  }

  async #findKnown(workspaceId: string, configPath: string, keyOf: ReadSource["keyOf"], signal: AbortSignal) {
    for (const installer of this.#machine.installers) {
      const found = await this.#shelf.find(workspaceId, await keyOf(installer), signal);
      if (!found) continue;
      if (await this.#machine.canUse(found, { installer, configPath })) return found;
      await this.#shelf.remove(found);
    }
    return null;
  }
}

function lfsText(paths: readonly string[]): string {
  const more = paths.length - shownPointers;
  const shown = paths.slice(0, shownPointers).join(", ");
  return `Git LFS keeps the content of ${paths.length} file${paths.length === 1 ? "" : "s"}, which is not downloaded: ${shown}${more > 0 ? ` and ${more} more` : ""}. They are pointer files. Commit the files the agent needs, or download them in install_command.`;
}
