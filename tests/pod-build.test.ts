import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BuildPodLost, type BuildPodOrder } from "../src/control-plane/builds/pods/build-pods.ts";
import { FolderBlobStore } from "../src/platform/blob/folder-blob-store.ts";
import { sweepUnclaimed } from "../src/platform/blob/unclaimed-blobs.ts";
import { raw } from "../src/platform/db/raw.ts";
import { logMaxLines, PodBuildSite, Processes } from "./support/pod-build-site.ts";

/** The machines of the first builds are lost. */
class LosingProcesses extends Processes {
  readonly lost: BuildPodOrder[] = [];
  #left: number;

  constructor(place: ConstructorParameters<typeof Processes>[0], losses: number) {
    super(place);
    this.#left = losses;
  }

  override async start(order: BuildPodOrder): Promise<void> {
    if (this.#left > 0) this.lost.push(order);
    else await super.start(order);
  }

  override async ended(): Promise<string | null> {
    if (this.#left === 0) return await super.ended();
    this.#left -= 1;
    throw new BuildPodLost("The node one does not respond.");
  }
}

let site: PodBuildSite;
beforeAll(async () => {
  site = await PodBuildSite.open();
});
afterAll(() => site?.close());

describe("a build in a pod", { timeout: 60_000 }, () => {
  it("gets its source and commands, sends its lines, and what it hands in is stored", async () => {
    const script =
      'console.log(JSON.stringify(process.env)); import { writeFileSync } from "node:fs"; writeFileSync("made.txt", "made");\n';
    const { request, revisionId, log } = await site.ask({ "install.js": script });
    const pods = site.pods();
    const builder = site.openBuilder(pods);
    const built = await builder.build(request);
    expect(built).toMatchObject({ cached: false, usesOwnAuth: false, commitSha: null });
    expect(await readFile(join(built.path, "made.txt"), "utf8")).toBe("made");
    const lines = await log();
    const seen = JSON.parse(lines.find(({ origin }) => origin === "project")!.message) as Record<
      string,
      string
    >;
    expect(seen).toMatchObject({ npm_config_registry: "http://127.0.0.1:9/" });
    // Paths are of another machine.
    expect(seen.PATH).not.toContain("/nowhere");
    expect(seen.SSL_CERT_FILE).toBeUndefined();
    expect(lines[0]).toEqual({ message: "Installing: node install.js", origin: "platform" });
    expect(lines).toContainEqual({ message: "$ node install.js", origin: "platform" });
    const { rows } = await raw<{
      progress: number;
    }>`select progress from revisions where id = ${revisionId}`.execute(site.database.sql);
    expect(rows[0]!.progress).toBe(30);
    await builder.clear(revisionId);
    expect(pods.removed).toEqual([pods.orders[0]!.id]);
    expect(await readdir(site.blobFolder, { recursive: true })).not.toContainEqual(
      expect.stringContaining(".zst"),
    );
    const again = await site.ask({ "install.js": script });
    expect(
      await site.openBuilder(site.pods()).build({ ...again.request, source: request.source }),
    ).toMatchObject({ cached: true });
  });

  it("fails with the words of its tool, and the platform's own check needs no pod", async () => {
    const { request, log } = await site.ask({ "install.js": "\nnope();\n" });
    const failed = (await site
      .openBuilder(site.pods())
      .build(request)
      .catch((error: unknown) => error)) as {
      message: string;
      tool: { output: string[]; isLogged?: boolean };
    };
    expect(failed.message).toMatch(/^install_command failed \(node install\.js: exit code 1\)/);
    expect(failed.tool.output).toContainEqual(
      expect.stringMatching(/builds\/[0-9a-f-]{36}\/source\/install\.js:2/),
    );
    // Its log has them, so that nobody writes them there once more.
    expect(failed.tool.isLogged).toBe(true);
    expect((await log()).map(({ message }) => message)).toContainEqual(expect.stringContaining("nope();"));
    const wrong = await site.ask({ "langgraph.json": "{" });
    const pods = site.pods();
    await expect(site.openBuilder(pods).build(wrong.request)).rejects.toThrow(
      /langgraph\.json cannot be used/,
    );
    expect(pods.orders).toEqual([]);
  });

  it("goes on when its log is full", async () => {
    const script = "for (let line = 0; line < 3_000; line += 1) console.log(line);\n";
    const { request, log } = await site.ask({ "install.js": script });
    const built = await site.openBuilder(site.pods()).build(request);
    expect(built.cached).toBe(false);
    const lines = await log();
    expect(lines.length).toBeLessThanOrEqual(logMaxLines + 1);
    expect(lines.filter(({ message }) => message.startsWith("The log of this build is full"))).toHaveLength(
      1,
    );
  });

  it("leaves no source behind when its process dies before it is begun", async () => {
    const { request, revisionId } = await site.ask({ "install.js": "\n" });
    class Dying extends FolderBlobStore {
      override async put(key: string, body: Buffer): Promise<void> {
        await super.put(key, body);
        throw new Error("The process dies here.");
      }
    }
    const dying = new Dying(site.blobFolder);
    await expect(site.openBuilder(site.pods(), dying).build(request)).rejects.toThrow("dies here");
    expect(await site.stored(revisionId)).toHaveLength(1);
    const { database, blobs } = site;
    const now = new Date(Date.now() + 2 * 86_400_000);
    await sweepUnclaimed({ database, blobs, now, named: async () => new Set() }, request.signal);
    expect(await site.stored(revisionId)).toEqual([]);
  });

  it("begins again when its machine is lost, and what the lost pod still sends is refused", async () => {
    const { request, revisionId } = await site.ask({ "install.js": 'console.log("installed");\n' });
    const pods = new LosingProcesses(site.place, 1);
    const lines: string[] = [];
    const onLine = (line: string) => void lines.push(line);
    const built = await site.openBuilder(pods).build({ ...request, onLine });
    expect(built).toMatchObject({ cached: false });
    expect(lines).toContain("The node one does not respond. The build begins again on another node.");
    const [lost, second] = [pods.lost[0]!, pods.orders[0]!];
    expect(pods.removed).toEqual([lost.id]);
    expect([lost.id === second.id, lost.token === second.token]).toEqual([false, false]);
    for (const id of [lost.id, second.id]) {
      const headers = { authorization: `Bearer ${lost.token}` };
      const refused = await fetch(`${site.place.url}/internal/builds/${id}`, { headers });
      expect([401, 403, 404]).toContain(refused.status);
    }
    expect(await site.unclaimed(revisionId)).toEqual([]);
  });

  it("fails with the words when one machine after the other is lost", async () => {
    const { request } = await site.ask({ "install.js": 'console.log("never");\n' });
    const pods = new LosingProcesses(site.place, 9);
    await expect(site.openBuilder(pods).build(request)).rejects.toThrow(
      "The node one does not respond. Deploy again.",
    );
    expect([pods.lost.length, pods.orders.length]).toEqual([3, 0]);
  });

  it("is found again by whoever takes it over, and is not begun twice", async () => {
    const { request } = await site.ask({ "install.js": "\n" });
    const released = Promise.withResolvers<void>();
    const pods = site.pods(() => released.promise);
    const given = new AbortController();
    const first = site.openBuilder(pods).build({ ...request, signal: given.signal });
    await expect.poll(() => pods.orders.length, { timeout: 10_000 }).toBe(1);
    const second = site.openBuilder(pods).build(request);
    await expect.poll(() => pods.orders.length, { timeout: 10_000 }).toBe(2);
    expect(pods.orders[1]).toEqual(pods.orders[0]);
    released.resolve();
    for (const build of [first, second])
      await expect(build).rejects.toThrow("The pod of the build ended without a result.");
  });
});
