import type { Caller } from "../../platform/http/access/caller.ts";
import type { Deployment } from "./deployment.ts";
import type { Revision } from "./revision.ts";

/** Finds what belongs to the caller's workspace; anything else is refused as unknown. The services do it. */
export type OwnDeployments = { load(caller: Caller, id: string): Promise<Deployment> };
export type OwnRevisions = { load(caller: Caller, deploymentId: string, id: string): Promise<Revision> };
