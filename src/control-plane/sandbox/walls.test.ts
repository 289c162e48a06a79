import { expect, it } from "vitest";
import { Walls } from "./walls.ts";

it("runs no command beside a cluster's credentials where there is no sandbox", async () => {
  const walls = new Walls({ setting: "auto", mustPass: [], path: "/nonexistent", besideCluster: true });
  const command = { command: ["true"] as const, cwd: "/", environment: {}, home: "/", mounts: [] };
  await expect(walls.enclose({ ...command, user: { uid: 1000, gid: 1000 } })).rejects.toMatchObject({
    code: "runtime.isolation_missing",
    message: expect.stringContaining("Nothing is built here"),
  });
});
