import { access } from "node:fs/promises";

/** Whether the path can be reached; one that may not be looked at counts as missing. */
export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
