import { z } from "zod";
import { type EventFilter, isChannel } from "../../platform/streaming-protocol/subscription-filter.ts";

const savedFilter = z.object({
  channels: z.array(z.string().refine(isChannel)).min(1),
  namespaces: z.array(z.array(z.string())).optional(),
  depth: z.int().min(0).optional(),
});

/**
 * An id holds what was subscribed to, so that any process can restore a subscription after a dropped connection
 * without having kept anything.
 */
export function toSubscriptionId(number: number, filter: EventFilter): string {
  return `${number}.${Buffer.from(JSON.stringify(filter)).toString("base64url")}`;
}

/** Undefined for a text that is no id of ours. */
export function filterOfId(id: string): EventFilter | undefined {
  const [, encoded] = /^\d+\.([\w-]+)$/.exec(id) ?? [];
  if (encoded === undefined) return undefined;
  try {
    const parsed = savedFilter.safeParse(JSON.parse(Buffer.from(encoded, "base64url").toString("utf8")));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
