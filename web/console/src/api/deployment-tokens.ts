import { session } from "../session.ts";
import type { Answers } from "./wire.ts";

type Made = Answers["create_deployment_token"];
/** Each is good for ten minutes; it is renewed before that, by the monotonic clock. */
const renewAfterMs = 8 * 60_000;

const kept = new Map<string, { made: Promise<string>; until: number }>();
let place = 0;

/**
 * The credential for one deployment, and for nothing else: a deployment's code must not get the console's session.
 * `make` asks the server for one.
 */
export function deploymentToken(
  deploymentId: string,
  make: (path: string) => Promise<Made>,
): Promise<string> {
  const now = performance.now();
  // Those of another session or workspace are of no use here.
  if (session.current?.place !== place) {
    kept.clear();
    place = session.current?.place ?? 0;
  }
  const known = kept.get(deploymentId);
  if (known && known.until > now) return known.made;
  const made = make(`/v2/deployments/${encodeURIComponent(deploymentId)}/tokens`).then(({ token }) => token);
  kept.set(deploymentId, { made, until: now + renewAfterMs });
  made.catch(() => kept.delete(deploymentId));
  return made;
}

/** It was refused: the next request gets another one. */
export function forgetDeploymentToken(deploymentId: string): void {
  kept.delete(deploymentId);
}
