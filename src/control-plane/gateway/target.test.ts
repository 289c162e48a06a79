import { expect, it } from "vitest";
import { targetOf } from "./target.ts";
import type { TargetRow } from "./target-store.ts";

const row: TargetRow = {
  ...{ deployment_id: "d", workspace_id: "w", name: "bot", desired_state: "running", uses_own_auth: false },
  ...{ active_number: 1, instance_id: "i", runtime: "process", port: 4000, endpoints: null },
  ...{ secret_sealed: "sealed", instance_state: "ready", latest_number: 1, latest_status: "DEPLOYED" },
  ...{ attempt: 1, exit_kind: null, exit_detail: null, sleep_state: "awake" },
  ...{ listener: null, remote_url: null },
};
const serverOf = (runtime: string) => targetOf({ ...row, runtime }, () => "secret").instance;

it("a process or container without an endpoint is on this machine, as earlier versions had it", () => {
  for (const runtime of ["process", "docker"])
    expect(serverOf(runtime)?.endpoints).toMatchObject([{ host: "127.0.0.1", port: 4000 }]);
});

it("one that a listener runs is elsewhere, and the reason says where", () => {
  const remote = { ...row, runtime: "remote", listener: "eu-1", remote_url: "https://eu.example.com/d/bot" };
  const target = targetOf(remote, () => "secret");
  expect(target).toMatchObject({ instance: null, elsewhere: true });
  expect(target.reason).toContain("the listener eu-1. Its address is https://eu.example.com/d/bot;");
});

it("a pod without an endpoint is nowhere: whatever listens on this machine does not get its secret", () => {
  expect(serverOf("kubernetes")).toBeNull();
});

it.each([
  ["awake", "ready", true, "no"],
  ["awake", "draining", true, "no"],
  ["falling_asleep", "ready", false, "asleep"],
  ["falling_asleep", "draining", false, "asleep"],
  ["asleep", "stopping", false, "asleep"],
  ["waking", "draining", false, "waking"],
  ["waking", "starting", false, "waking"],
  ["waking", "ready", true, "waking"],
] as const)(
  "one that is %s with a server that is %s: it serves is %s",
  (sleep_state, instance_state, serves, rests) => {
    const target = targetOf({ ...row, sleep_state, instance_state }, () => "secret");
    expect([target.instance !== null, target.rests]).toEqual([serves, rests]);
    expect(
      targetOf({ ...row, sleep_state, instance_state, desired_state: "stopped" }, () => "secret"),
    ).toMatchObject({
      ...{ instance: null, stopped: true, rests: "no" },
    });
  },
);
