export const note =
  "Everyone with the token can read it, without a key, until sharing is withdrawn. A run is shared with its whole trace.";
export const sharedRun = { action: "traces.shared", target: { kind: "run", id: "params.run_id" } } as const;
export const unsharedRun = {
  action: "traces.unshared",
  target: { kind: "run", id: "params.run_id" },
} as const;
