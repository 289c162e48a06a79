import { expect, it } from "vitest";
import { type ControlPlaneOptions, movesLogs } from "./control-plane-options.ts";

it("moves old log lines where all who read them have the storage, and never before a listener has told them", () => {
  const listener = {} as NonNullable<ControlPlaneOptions["listener"]>;
  expect(movesLogs({ sharesBlobs: true })).toBe(true);
  expect(movesLogs({ sharesBlobs: false, ownsDatabaseServer: true })).toBe(true);
  expect(movesLogs({ sharesBlobs: false })).toBe(false);
  expect(movesLogs({ sharesBlobs: true, ownsDatabaseServer: true, listener })).toBe(false);
});
