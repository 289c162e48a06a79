import type { BuildSource } from "../builds/build-request.ts";
import type { Revision } from "../desired-state/revision.ts";
import type { PlatformClient } from "./platform-client.ts";

/** The sources of revisions, as the platform has them: its credentials for a repository, or the archive it was sent. */
export class RemoteSources {
  readonly #client: Pick<PlatformClient, "sourceOf" | "saveArchive">;

  constructor(client: Pick<PlatformClient, "sourceOf" | "saveArchive">) {
    this.#client = client;
  }

  async of({ id }: Revision, signal: AbortSignal): Promise<BuildSource> {
    const source = await this.#client.sourceOf(id, signal);
    if (source.kind === "git") return source;
    const { sha256, bytes } = source;
    const save = (file: string, reading: AbortSignal) =>
      this.#client.saveArchive(id, { sha256, bytes, file }, reading);
    return { kind: "tarball", sha256, save };
  }
}
