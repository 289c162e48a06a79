import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { serverContainer } from "./objects.ts";
import type { ContainerStatus, Pod } from "./pods.ts";
import { PullFailures } from "./pulls.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function podIn(state: ContainerStatus["state"], name = "pod-1"): Pod {
  return {
    metadata: { name, uid: name, resourceVersion: "1" },
    status: { containerStatuses: [{ name: serverContainer, state }] },
  };
}

const waiting = (reason: string) => podIn({ waiting: { reason } });

it("counts from the first failure, also while it waits for the next attempt", () => {
  const pulls = new PullFailures();
  pulls.note([waiting("ErrImagePull")]);
  vi.advanceTimersByTime(10_000);
  pulls.note([waiting("ImagePullBackOff")]);
  vi.advanceTimersByTime(5_000);
  pulls.note([waiting("ContainerCreating")]);
  expect(pulls.failedMs("pod-1")).toBe(15_000);
});

it("begins again after the image was pulled once", () => {
  const pulls = new PullFailures();
  pulls.note([waiting("ErrImagePull")]);
  vi.advanceTimersByTime(10_000);
  pulls.note([podIn({ running: {} })]);
  expect(pulls.failedMs("pod-1")).toBe(0);
  pulls.note([waiting("ErrImagePull")]);
  vi.advanceTimersByTime(1_000);
  expect(pulls.failedMs("pod-1")).toBe(1_000);
});

it("each pod by itself; one that was never seen to fail has none", () => {
  const pulls = new PullFailures();
  pulls.note([waiting("ErrImagePull"), podIn({ running: {} }, "pod-2")]);
  vi.advanceTimersByTime(7_000);
  expect([pulls.failedMs("pod-1"), pulls.failedMs("pod-2"), pulls.failedMs("pod-3")]).toEqual([7_000, 0, 0]);
});
