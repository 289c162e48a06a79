import { AppError, errorMessage } from "../../../platform/errors.ts";
import type { PinnedImage } from "../runtime.ts";
import type { DockerEngine } from "./engine.ts";

type ImageFacts = { Id: string; RepoDigests?: string[] | null; Config?: { User?: string } };

/** Which user it asks for, and what it is by content. */
export type FoundImage = { user: string; pinned: PinnedImage };

/**
 * Finds an image, and pulls it where it is missing. What a revision was pinned to at its first start is found by its
 * digest, so that a tag that moved since does not change what runs.
 */
export async function findImage(
  engine: DockerEngine,
  reference: string,
  { pinned, signal }: { pinned: PinnedImage | null; signal: AbortSignal },
): Promise<FoundImage> {
  const digest = pinned?.reference === reference ? pinned.digest : null;
  const wanted = digest ?? reference;
  const look = () =>
    engine.call<ImageFacts>({ method: "GET", path: `/images/${encodeURIComponent(wanted)}/json` });
  const known = await look();
  if (known) return foundImage(reference, known, digest);
  // An image that was never in a registry has only its id, and cannot be pulled.
  if (digest !== null && !digest.includes("@")) throw pinnedImageGone(reference, digest);
  const path = `/images/create?fromImage=${encodeURIComponent(wanted)}`;
  const ended = await engine
    .call<{ error?: string }>({ method: "POST", path, signal })
    .catch((error: unknown) => ({ error: errorMessage(error) }));
  signal.throwIfAborted();
  const pulled = ended !== null && ended.error === undefined ? await look() : null;
  if (pulled) return foundImage(reference, pulled, digest);
  throw new AppError({
    code: "runtime.image_missing",
    kind: "invalid",
    message: `The image ${wanted} cannot be pulled: ${ended?.error ?? "it does not exist"}. Check image_uri and that this machine may read it.`,
  });
}

function foundImage(reference: string, facts: ImageFacts, digest: string | null): FoundImage {
  return {
    user: facts.Config?.User ?? "",
    pinned: { reference, digest: digest ?? digestOf(reference, facts) },
  };
}

/** As the registry knows it, so that it can be pulled again; an image made on this machine has its id alone. */
function digestOf(reference: string, { Id, RepoDigests }: ImageFacts): string {
  const repository = reference.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
  return RepoDigests?.find((known) => known.split("@")[0] === repository) ?? Id;
}

function pinnedImageGone(reference: string, digest: string): AppError {
  return new AppError({
    code: "runtime.image_missing",
    kind: "invalid",
    message: `The image this revision was started with, ${reference} (${digest}), is no longer on this machine. Create a new revision: it takes the image that ${reference} names now.`,
  });
}
