import {
  type AdmissionOptions,
  type AdmissionRequest,
  admitToServer,
  type ServedAdmission,
} from "./gateway-access.ts";
import { NotReached, unreachable } from "./proxy.ts";
import type { Server } from "./target.ts";

const maxServers = 3;

/**
 * Passes a request on to the server that was found. If it takes no connection, it has stopped or moved without a
 * notification: its cached entry is dropped, and the current server is asked.
 */
export async function untilReached(
  request: AdmissionRequest,
  found: ServedAdmission,
  options: AdmissionOptions,
  pass: (admission: ServedAdmission) => Promise<void>,
): Promise<void> {
  let admission = found;
  for (let servers = 1; ; servers += 1) {
    try {
      return await pass(admission);
    } catch (error) {
      if (!(error instanceof NotReached)) throw error;
      options.targets.forget(admission.target.deploymentId);
      const next = await admitToServer(request, options);
      if (servers === maxServers || isSame(next.target.instance, admission.target.instance))
        throw unreachable(error);
      admission = next;
    }
  }
}

function isSame(one: Server, other: Server): boolean {
  const known = new Set(other.endpoints.map(({ key }) => key));
  return one.endpoints.every(({ key }) => known.has(key));
}
