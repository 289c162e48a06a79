import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { readParams as readAs } from "../../platform/streaming-protocol/command.ts";
import { filterFields, sinceField } from "../../platform/streaming-protocol/filter-fields.ts";
import { runConfig } from "../graphs/graph-call-schemas.ts";

const namespace = z.array(z.string());
const goto = z.union([z.string(), z.object({ node: z.string(), input: z.unknown() })]);

const respondFields = {
  update: z.unknown().optional(),
  goto: z.union([goto, z.array(goto)]).nullish(),
  config: runConfig.nullish(),
  metadata: jsonObject.nullish(),
};
const responseFields = {
  namespace: namespace.default([]),
  interrupt_id: z.string().min(1),
  response: z.unknown(),
};

/** Params by method. Fields we do not know are the client's business and pass unread. */
export const commandParams = {
  "input.respond": z.union([
    z.looseObject({ responses: z.array(z.looseObject(responseFields)).min(1), ...respondFields }),
    z.looseObject({ ...responseFields, ...respondFields }),
  ]),
  "input.inject": z.looseObject({
    namespace: namespace.default([]),
    message: z.looseObject({ role: z.enum(["user", "system"]), content: z.string() }),
  }),
  "state.get": z.looseObject({
    namespace: namespace.default([]),
    keys: z.array(z.string()).nullish(),
  }),
  "state.listCheckpoints": z.looseObject({
    namespace: namespace.nullish(),
    limit: z.int().min(1).max(1000).nullish(),
    before: z.string().nullish(),
  }),
  "state.fork": z.looseObject({
    checkpoint_id: z.string().min(1),
    input: z.unknown().optional(),
    config: runConfig.nullish(),
  }),
  "agent.getTree": z.looseObject({ run_id: z.string().nullish() }),
  "subscription.subscribe": z.looseObject({ ...filterFields, since: sinceField }),
  "subscription.unsubscribe": z.looseObject({ subscription_id: z.string().min(1) }),
  "subscription.reconnect": z.looseObject({
    run_id: z.string().min(1),
    last_event_id: z.string().nullish(),
    subscriptions: z.array(z.string()).nullish(),
  }),
};
type Params = typeof commandParams;
export type CommandParams<M extends keyof Params> = z.output<Params[M]>;

/** Body of a request for events: one connection is one subscription. */
export const eventStreamBody = z
  .looseObject({
    ...filterFields,
    since: sinceField.describe("Only events with a higher number; without it, all events."),
  })
  .meta({ id: "EventStreamRequest" });

export function readParams<M extends keyof Params>(method: M, params: unknown): CommandParams<M> {
  return readAs(commandParams[method] as unknown as z.ZodType<CommandParams<M>>, params ?? {}, method);
}
