import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ensureBubblewrap } from "../../../tests/support/components/bubblewrap.ts";
import { createTempFolder } from "../../../tests/support/components/temp-folder.ts";
import { startEnclosed } from "./enclosed-process.ts";
import { Walls } from "./walls.ts";

it("runs no command beside a cluster's credentials where there is no sandbox", async () => {
  const walls = new Walls({ setting: "auto", mustPass: [], path: "/nonexistent", besideCluster: true });
  const command = { command: ["true"] as const, cwd: "/", environment: {}, home: "/", mounts: [] };
  await expect(walls.enclose({ ...command, user: { uid: 1000, gid: 1000 } })).rejects.toMatchObject({
    code: "runtime.isolation_missing",
    message: expect.stringContaining("Nothing is built here"),
  });
});

it("shows no file that a project names as its certificates, and those that the operator named", async () => {
  await ensureBubblewrap();
  const folder = await createTempFolder("walls");
  try {
    await chmod(folder.path, 0o755);
    const [own, named] = [join(folder.path, "own.pem"), join(folder.path, "named.pem")];
    for (const file of [own, named]) await writeFile(file, "what is inside", { mode: 0o644 });
    const walls = new Walls({ setting: "required", mustPass: [], certificates: [named] });
    const seen = async (path: string) => {
      const launch = await walls.enclose({
        command: ["cat", path],
        ...{ cwd: "/", home: "/", mounts: [], user: { uid: 61_234, gid: 61_234 } },
        environment: {
          PATH: "/usr/bin:/bin",
          ...{ NODE_EXTRA_CA_CERTS: path, SSL_CERT_FILE: path, SSL_CERT_DIR: folder.path },
        },
      });
      const { child, begin } = startEnclosed(launch, ["ignore", "pipe", "pipe"]);
      const ended = once(child, "close");
      begin();
      const [output, complaint] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
      await ended;
      return output === "" ? complaint : output;
    };
    expect(await seen(named)).toBe("what is inside");
    expect(await seen(own)).toContain("No such file");
  } finally {
    await folder.remove();
  }
});
