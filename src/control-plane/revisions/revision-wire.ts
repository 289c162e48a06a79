import { z } from "zod";
import { exitFields, sourceRevisionConfig } from "../deployments/deployment-schemas.ts";
import { exitsWire, revisionConfigWire } from "../deployments/deployment-wire.ts";
import {
  type RevisionEvent,
  revisionConditions,
  revisionStatuses,
  sources,
} from "../desired-state/revision.ts";
import { id, time } from "../wire/wire-fields.ts";
import type { RevisionView } from "./revision-service.ts";

export const revisionEvent = z
  .object({
    id: z.number().int(),
    kind: z.string(),
    status: z.enum(revisionStatuses).nullable(),
    message: z.string(),
    created_at: time,
  })
  .meta({ id: "RevisionEvent" });

export const revision = z
  .object({
    id,
    deployment_id: id,
    number: z.number().int(),
    status: z.enum(revisionStatuses),
    status_message: z.string().nullable(),
    failure: z
      .object({
        file: z.string().nullable().describe("In the project's folder."),
        line: z.number().int().nullable(),
        column: z.number().int().nullable(),
        reason: z.string(),
        output: z.array(z.string()).describe("What the project's own tool printed, at most 60 lines."),
      })
      .nullable()
      .describe("Why it failed, in the words of the project's own tools; null where it has not."),
    condition: z
      .enum(revisionConditions)
      .nullable()
      .describe("What is wrong with the server of a revision that serves; null when nothing is."),
    progress: z.number().int().min(0).max(100),
    source: z.enum(sources),
    source_revision_config: sourceRevisionConfig,
    image: z
      .object({ reference: z.string(), digest: z.string() })
      .nullable()
      .describe("The image its servers run in, by name and by content; null outside of containers."),
    redeploy_of: id.nullable(),
    ...exitFields,
    events: z.array(revisionEvent).describe("What happened to it, oldest first."),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "Revision" });

export function toRevisionWire({ revision: row, events, exits }: RevisionView): z.input<typeof revision> {
  return {
    id: row.id,
    deployment_id: row.deployment_id,
    number: row.number,
    status: row.status,
    status_message: row.status_message,
    failure: row.failure,
    condition: row.condition,
    progress: row.progress,
    source: row.source,
    source_revision_config: revisionConfigWire(row.source_revision_config, row.repo_commit_sha),
    image:
      row.image_reference === null || row.image_digest === null
        ? null
        : { reference: row.image_reference, digest: row.image_digest },
    redeploy_of: row.redeploy_of,
    ...exitsWire(exits),
    events: events.map(toEventWire),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function toEventWire(event: RevisionEvent): z.input<typeof revisionEvent> {
  return {
    id: event.id,
    kind: event.kind,
    status: event.status,
    message: event.message,
    created_at: event.created_at.toISOString(),
  };
}
