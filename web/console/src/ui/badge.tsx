import type { ReactNode } from "react";

export type Tone = "neutral" | "good" | "bad" | "warn" | "live";

export function Badge({
  tone = "neutral",
  children,
  title,
}: {
  tone?: Tone;
  children: ReactNode;
  title?: string;
}) {
  return (
    <span className={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

/** Statuses of deployments, revisions, exports, traces, threads and connections, in plain words. */
const known: Readonly<Record<string, readonly [Tone, string]>> = {
  ready: ["good", "Ready"],
  deployed: ["good", "Deployed"],
  completed: ["good", "Completed"],
  success: ["good", "Success"],
  active: ["good", "Active"],
  idle: ["neutral", "Idle"],
  pending: ["live", "Pending"],
  creating: ["live", "Creating"],
  created: ["live", "Waiting"],
  queued: ["live", "Queued"],
  awaiting_build: ["live", "Waits to build"],
  building: ["live", "Building"],
  awaiting_deploy: ["live", "Waits to deploy"],
  deploying: ["live", "Deploying"],
  awaiting_database: ["live", "Prepares the database"],
  awaiting_delete: ["live", "Deleting"],
  running: ["live", "Running"],
  busy: ["live", "Busy"],
  claimed: ["live", "Connecting"],
  interrupted: ["warn", "Interrupted"],
  skipped: ["neutral", "Skipped"],
  unused: ["neutral", "Not deployed"],
  cancelled: ["neutral", "Cancelled"],
  timedout: ["bad", "Timed out"],
  timeout: ["bad", "Timed out"],
  create_failed: ["bad", "Not created"],
  build_failed: ["bad", "Build failed"],
  deploy_failed: ["bad", "Deploy failed"],
  failed: ["bad", "Failed"],
  error: ["bad", "Error"],
  dead: ["bad", "Must reconnect"],
  firing: ["bad", "Firing"],
  resolved: ["good", "Resolved"],
  ok: ["good", "OK"],
  unknown: ["warn", "Unknown"],
};

export function StatusBadge({ status, title }: { status: string; title?: string }) {
  const [tone, words] = known[status.toLowerCase()] ?? ["neutral", sentence(status)];
  return (
    <span className={`badge status ${tone}`} title={title}>
      <span className="dot" aria-hidden="true" />
      {words}
    </span>
  );
}

function sentence(status: string): string {
  const words = status.replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
