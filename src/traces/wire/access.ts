import type { Access } from "../../platform/http/route.ts";

/** Who may read traces and what belongs to them. */
export const reads: Access = { kind: "workspace", role: "viewer", scope: "read" };
/** Who may send and change them. */
export const writes: Access = { kind: "workspace", role: "editor", scope: "traces:write" };
/** Who may send what belongs to one project; the routes hold a credential of one project to it. */
export const sends: Access = { ...writes, checksTracingProject: true };
