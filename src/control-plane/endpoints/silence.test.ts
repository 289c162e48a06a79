import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type ChildProcess, spawnProcess } from "../../../tests/support/components/process.ts";
import { isSilent } from "./silence.ts";

const host = "127.0.0.1";
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Connected as far as the kernels are concerned. */
function connected(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    closers.push(() => socket.destroy());
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
}

/** Listens, and never looks at a connection. */
const busyServer = `
  const server = require("node:net").createServer();
  server.listen({ host: "${host}", port: 0, backlog: 1 }, () => {
    require("node:fs").writeSync(1, "port " + server.address().port + "\\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

describe("a machine", () => {
  it("is not silent while a busy server has no room for more connections", async () => {
    const child: ChildProcess = spawnProcess(process.execPath, ["-e", busyServer], { name: "busy server" });
    closers.push(() => child.kill());
    const line = await child.waitForLine(/^port \d+$/, 60_000);
    const port = Number(line.slice("port ".length));
    // The kernel takes one more than it was told, and drops the rest without a word.
    await connected(port);
    await connected(port);
    expect(await isSilent({ host, port }, 2_000)).toBe(false);
  });

  it("is asked without a connection to its server", async () => {
    let taken = 0;
    const server = createServer(() => {
      taken += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    closers.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await isSilent({ host, port }, 2_000)).toBe(false);
    const next = new Promise((resolve) => server.once("connection", resolve));
    await connected(port);
    await next;
    expect(taken).toBe(1);
  });

  it("is silent where no packet gets to", async () => {
    // The kernel has no way to a group of machines for a connection: nothing is sent.
    expect(await isSilent({ host: "224.0.0.1", port: 8000 }, 2_000)).toBe(true);
  });
});
