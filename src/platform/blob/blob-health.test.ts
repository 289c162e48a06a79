import { expect, test, vi } from "vitest";
import { BlobHealth } from "./blob-health.ts";
import type { BlobEntry, BlobStore } from "./blob-store.ts";
import { platformFailure } from "./platform-failure.ts";

/** A storage that answers only when the test lets it. */
function storage() {
  const asked: PromiseWithResolvers<BlobEntry[]>[] = [];
  const list = () => {
    const answer = Promise.withResolvers<BlobEntry[]>();
    asked.push(answer);
    return answer.promise;
  };
  return { asked, health: new BlobHealth({ list } as unknown as BlobStore) };
}

test("a storage that hangs holds nobody up, and is asked once", async () => {
  const { asked, health } = storage();
  const began = performance.now();
  expect(await health.problem()).toBe("blob.unreachable");
  expect(performance.now() - began).toBeLessThan(5_000);
  await Promise.all([health.problem(), health.problem()]);
  expect(asked).toHaveLength(1);
});

test("the last known answer is given at once, and looked up again when it is old", async () => {
  const { asked, health } = storage();
  const first = health.problem();
  asked[0]!.resolve([]);
  expect(await first).toBeNull();
  const now = performance.now();
  const clock = vi.spyOn(performance, "now");
  try {
    clock.mockReturnValue(now + 9_000);
    expect(await health.problem()).toBeNull();
    expect(asked).toHaveLength(1);
    clock.mockReturnValue(now + 11_000);
    expect(await health.problem()).toBeNull();
    expect(asked).toHaveLength(2);
    asked[1]!.reject(platformFailure("blob.no_bucket", "gone", null));
    await vi.waitFor(async () => expect(await health.problem()).toBe("blob.no_bucket"));
    expect(asked).toHaveLength(2);
  } finally {
    clock.mockRestore();
  }
});
