import { ensureDebianPackages } from "./install-packages.ts";

/** Sandboxes are made with it; where it is missing deployed code runs without. */
export async function ensureBubblewrap(): Promise<void> {
  await ensureDebianPackages(["bubblewrap"]);
}
