import { deployment, pageOf } from "../../client/answers.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";

const patienceMs = 1_500;

/** For completion: whatever goes wrong, a person who presses TAB must not wait or read an error. */
export async function deploymentNames(options: GlobalOptions): Promise<string[]> {
  try {
    const { api } = await openSession(options);
    const page = await api.call(pageOf(deployment), "GET", "/v2/deployments", {
      query: { limit: 100 },
      signal: AbortSignal.timeout(patienceMs),
    });
    return page.resources.map(({ name }) => name).filter((name) => !/\s/.test(name));
  } catch {
    return [];
  }
}
