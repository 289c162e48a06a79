import type { Access } from "../platform/http/route.ts";

/** Who may read traces and what belongs to them. */
export const reads: Access = { kind: "workspace", role: "viewer" };
/** Who may send and change them. */
export const writes: Access = { kind: "workspace", role: "editor" };
