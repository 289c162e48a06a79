import type { z } from "zod";
import type { DeploymentPatch } from "../desired-state/deployment.ts";
import type { patchRequest } from "./deployment-schemas.ts";

type Given = {
  source_config?: object | null | undefined;
  source_revision_config?: object | null | undefined;
};

/** Null and left out mean the same. */
export function configsOf(body: Given) {
  return {
    source_config: withoutNulls(body.source_config),
    source_revision_config: withoutNulls(body.source_revision_config),
  };
}

export function patchOf(body: z.output<typeof patchRequest>): DeploymentPatch {
  const { tracked_packages: _unused, ...rest } = body;
  return { ...withoutNulls(rest), ...configsOf(rest) } as DeploymentPatch;
}

function withoutNulls(given: object | null | undefined): Record<string, never> {
  const kept = Object.entries(given ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(kept) as Record<string, never>;
}
