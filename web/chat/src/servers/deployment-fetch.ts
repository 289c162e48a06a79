import { connection, ownHeaders } from "../connection.ts";
import { RefusedError } from "./http-api.ts";

/** Each token is good for ten minutes; it is renewed before that, by the monotonic clock. */
const renewAfterMs = 8 * 60_000;

/**
 * Requests to one deployment, with a token for it alone and without the cookie: the deployment runs somebody else's
 * code, and must not get the user's session.
 */
export function deploymentFetch(deploymentId: string): typeof fetch {
  let token: { made: Promise<string>; until: number } | undefined;
  const current = (): Promise<string> => {
    if (token && token.until > performance.now()) return token.made;
    const made = makeToken(deploymentId);
    token = { made, until: performance.now() + renewAfterMs };
    made.catch(() => {
      token = undefined;
    });
    return made;
  };
  return async (input, init = {}) => {
    for (let tries = 1; ; tries++) {
      const headers = new Headers(init.headers);
      headers.set("x-api-key", await current());
      const response = await connection.watch(
        () => fetch(input, { ...init, headers, credentials: "omit" }),
        init.signal,
      );
      // It may have ended with a session that was replaced.
      if (response.status !== 401 || tries === 2) return response;
      token = undefined;
    }
  };
}

const refusals: Readonly<Record<number, string>> = {
  401: "Your session has ended. Sign in again to talk to this deployment.",
  403: "Your role in this workspace does not allow you to talk to deployments.",
  404: "This deployment no longer exists. Its conversations were deleted with it.",
};

async function makeToken(deploymentId: string): Promise<string> {
  const path = `/v2/deployments/${encodeURIComponent(deploymentId)}/tokens`;
  const answer = await connection.watch(() => fetch(path, { method: "POST", headers: ownHeaders() }));
  if (!answer.ok)
    throw new RefusedError(answer.status, refusals[answer.status] ?? `The server answered ${answer.status}.`);
  return ((await answer.json()) as { token: string }).token;
}
