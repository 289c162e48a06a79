import { deployment, pageOf } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { listAlerts } from "../../client/choose-alert.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";
import type { NamedThing } from "./complete-words.ts";

const patienceMs = 1_500;

/** For completion: after any failure, a person who presses TAB must not wait or read an error. */
export async function namesOnServer(thing: NamedThing, options: GlobalOptions): Promise<string[]> {
  try {
    const { api } = await openSession(options);
    const found = await named[thing](api, AbortSignal.timeout(patienceMs));
    return found.map(({ name }) => name).filter((name) => !/\p{Cc}/u.test(name));
  } catch {
    return [];
  }
}

const named = {
  deployment: async (api: ApiClient, signal: AbortSignal) =>
    (await api.call(pageOf(deployment), "GET", "/v2/deployments", { query: { limit: 100 }, signal }))
      .resources,
  alert: (api: ApiClient, signal: AbortSignal) => listAlerts(api, { signal }),
};
