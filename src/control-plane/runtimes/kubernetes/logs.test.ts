import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import { createLogger } from "../../../platform/logger.ts";
import type { KubernetesApi, KubernetesCall } from "./api.ts";
import { PodLogs } from "./logs.ts";
import type { Pod } from "./pods.ts";

let folder: TempFolder;
let path: string;
let opened: { call: KubernetesCall; stream: PassThrough }[];

beforeEach(async () => {
  folder = await createTempFolder("pod-logs");
  path = join(folder.path, "logs", "one.log");
  opened = [];
});
afterEach(() => folder.remove());

/** Streams that this test breaks: an API server breaks none when it is asked to. */
const api = {
  open: async (call: KubernetesCall) => {
    const stream = new PassThrough({ ...(call.signal ? { signal: call.signal } : {}) });
    stream.on("error", () => {});
    opened.push({ call, stream });
    return stream;
  },
} as unknown as Pick<KubernetesApi, "open">;

const logsOf = () =>
  new PodLogs({
    ...{ api, namespace: "n", path, logger: createLogger({ level: "silent" }), firstBackoffMs: 5 },
  });

const pod = (state: object): Pod =>
  ({
    metadata: { name: "p", uid: "u", resourceVersion: "1" },
    status: { containerStatuses: [{ name: "server", restartCount: 0, state }] },
  }) as Pod;

const stream = (at: number) =>
  waitUntil(() => opened[at]?.stream, { what: `stream ${at} to be opened`, timeoutMs: 5_000 });
const written = (text: string) =>
  waitUntil(async () => (await readFile(path, "utf8").catch(() => "")).includes(text), {
    ...{ what: `${text} in the file`, timeoutMs: 5_000 },
  });

describe("the log of a pod", () => {
  it("goes on from the last moment after its connection broke", async () => {
    const logs = logsOf();
    logs.follow([pod({ running: {} })]);
    (await stream(0)).write("first\n");
    await written("first");
    expect(opened[0]!.call).toMatchObject({ query: { follow: "true" }, lasting: true });
    expect(opened[0]!.call.query).not.toHaveProperty("sinceTime");
    opened[0]!.stream.destroy(new Error("connection reset"));
    (await stream(1)).write("second\n");
    await written("second");
    expect(opened[1]!.call.query?.sinceTime).toMatch(/^\d{4}-/);
    logs.follow([pod({ terminated: { exitCode: 1 } })]);
    opened[1]!.stream.end("last\n");
    await logs.end();
    expect(await readFile(path, "utf8")).toBe("first\nsecond\nlast\n");
    expect(opened).toHaveLength(2);
  });

  it("keeps the lines of several pods whole", async () => {
    const logs = logsOf();
    const other = pod({ running: {} });
    other.metadata = { ...other.metadata, name: "q", uid: "v" };
    logs.follow([pod({ running: {} }), other]);
    const [one, two] = [await stream(0), await stream(1)];
    one.write("first\nhalf of ");
    await written("first");
    two.write("other\n");
    await written("other");
    one.write("a line\n");
    await written("a line");
    expect(await readFile(path, "utf8")).toBe("first\nother\nhalf of a line\n");
    await logs.release();
  });

  it("outlives a file that cannot be written, and is written once it can", async () => {
    await mkdir(path, { recursive: true });
    const logs = logsOf();
    logs.follow([pod({ running: {} })]);
    (await stream(0)).write("lost\n");
    await waitUntil(() => opened[0]!.stream.readableFlowing !== null || opened.length > 1, {
      ...{ what: "the first attempt to be read", timeoutMs: 5_000 },
    });
    opened[0]!.stream.write("also lost\n");
    await rm(path, { recursive: true });
    await stream(1);
    await waitUntil(
      async () => {
        opened.at(-1)!.stream.write("kept\n");
        return (await readFile(path, "utf8").catch(() => "")).includes("kept");
      },
      { what: "a line in the file", timeoutMs: 5_000 },
    );
    await logs.release();
  });
});
