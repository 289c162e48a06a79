import { Badge, StatusBadge } from "../../ui/index.ts";
import { type Deployment, type Revision, stateOf } from "./deployment-api.ts";

const words: Readonly<Record<string, readonly ["good" | "bad" | "warn" | "live" | "neutral", string]>> = {
  serving: ["good", "Serving"],
  starting: ["live", "Starting"],
  stopped: ["neutral", "Stopped"],
  asleep: ["neutral", "Asleep"],
  waking: ["live", "Waking"],
  unstable: ["warn", "Unstable"],
  restarting: ["warn", "Restarting"],
  crash_loop: ["bad", "Keeps crashing"],
  away: ["warn", "Listener away"],
};

/** The state of a deployment: what serves, or what is on its way. */
export function DeploymentBadge({
  deployment,
  latest,
}: {
  deployment: Deployment;
  latest: Revision | undefined;
}) {
  const state = stateOf(deployment, latest);
  const failedUpdate =
    state === "serving" &&
    latest &&
    deployment.latest_revision_id === latest.id &&
    latest.status.endsWith("FAILED");
  const known = words[state];
  return (
    <span className="row">
      {known ? <StatusDot tone={known[0]} text={known[1]} /> : <StatusBadge status={state} />}
      {failedUpdate && <Badge tone="bad">update failed</Badge>}
    </span>
  );
}

function StatusDot({ tone, text }: { tone: string; text: string }) {
  return (
    <span className={`badge status ${tone}`}>
      <span className="dot" aria-hidden="true" />
      {text}
    </span>
  );
}
