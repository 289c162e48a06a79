import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { quickProject } from "../support/quick-project.ts";
import { createClient, writeProject } from "../support/treadle-client.ts";

let app: TestApp;
let folder: TempFolder;
let url: string;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  [app, folder] = await Promise.all([createTestApp(), createTempFolder("command-line-listeners")]);
  url = await app.listen();
  client = createClient(folder.path, { TREADLE_URL: url, TREADLE_API_KEY: app.apiKey });
}, 120_000);
afterAll(async () => {
  await app?.stop();
  await folder?.remove();
});

type Made = { id: string; key: string | null; api_key_id: string | null };

async function lease(listenerId: string, key: string) {
  const answer = await fetch(`${url}/v2/listeners/${listenerId}/lease`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({
      ...{
        place: listenerId,
        holder: listenerId,
        version: "7.1",
        runtime: "process",
        url: "http://127.0.0.1:9",
      },
    }),
  });
  return [answer.status, answer.headers.get("x-error-code")];
}

describe("treadle listeners", { timeout: 180_000 }, () => {
  test("makes a listener with a key of its own, lists and deletes it", async () => {
    expect((await client.run(["listeners"])).stdout).toContain("treadle listeners create NAME");
    const spoken = await client.run(["listeners", "create", "factory", "--type", "docker"]);
    expect(spoken.code).toBe(0);
    expect(spoken.stdout).toMatch(/trk_\w+/);
    expect(spoken.stdout).toContain(`treadle listener --platform ${url} --listener`);
    const again = await client.run(["listeners", "create", "factory"]);
    expect([again.code === 0, again.stderr]).toEqual([false, expect.stringContaining("already exists")]);
    const made = JSON.parse((await client.run(["listeners", "create", "ship", "--json"])).stdout) as Made;
    const bare = JSON.parse(
      (await client.run(["listeners", "create", "bare", "--no-key", "--json"])).stdout,
    ) as Made;
    expect([bare.key, bare.api_key_id]).toEqual([null, null]);
    // Its key was bound before anybody used it.
    expect(await lease(bare.id, made.key!)).toEqual([403, "listener.key_of_another"]);
    expect(await lease(made.id, made.key!)).toEqual([200, null]);
    const listed = (await client.run(["listeners", "list"])).stdout;
    expect(listed).toMatch(/ship +process +alive .*7\.1/);
    expect(listed).toMatch(/factory +docker +never/);
    const misspelt = await client.run(["listeners", "delete", "shp", "--yes"]);
    expect([misspelt.code === 0, misspelt.stderr]).toEqual([false, expect.stringContaining("ship")]);
    const unasked = await client.run(["listeners", "delete", "ship"]);
    expect([unasked.code === 0, unasked.stderr]).toEqual([false, expect.stringContaining("--yes")]);
    for (const name of ["ship", bare.id])
      expect((await client.run(["listeners", "delete", name, "--yes"])).code).toBe(0);
    const left = JSON.parse((await client.run(["listeners", "--json"])).stdout) as { compute_id: string }[];
    expect(left.map(({ compute_id }) => compute_id)).toEqual(["factory"]);
  });

  test("deploy names Secrets of its cluster, keeps them and takes them away; other runtimes have none", async () => {
    const made = await client.json<Made>(["listeners", "create", "cluster", "--type", "k8s", "--no-key"]);
    const cwd = await writeProject(join(folder.path, "referring"), quickProject("one"));
    const deploy = async (...args: string[]) => {
      const { deployment } = await client.json<{ deployment: { id: string } }>(
        ["deploy", "--name", "referring", "--no-wait", ...args],
        { cwd },
      );
      const response = await fetch(`${url}/v2/deployments/${deployment.id}`, {
        headers: { "x-api-key": app.apiKey },
      });
      const { secrets, secret_references } = (await response.json()) as Record<string, { name: string }[]>;
      return [secrets!.map(({ name }) => name), secret_references];
    };
    const a = { name: "A", secret_name: "model-keys", secret_key: "openai" };
    const b = { name: "B", secret_name: "model-keys", secret_key: "other" };
    const from = (each: typeof a) => ["--secret-from", `${each.name}=${each.secret_name}/${each.secret_key}`];
    expect(await deploy("--listener", made.id, ...from(a), "-s", "B=value")).toEqual([["B"], [a]]);
    expect(await deploy(...from(b))).toEqual([[], [a, b]]);
    expect(await deploy()).toEqual([[], [a, b]]);
    expect(await deploy("-s", "A=value", "--remove-secret", "B")).toEqual([["A"], null]);
    const unread = await client.run(["deploy", "--secret-from", "A=model-keys"], { cwd });
    expect([unread.code, unread.stderr]).toEqual([1, expect.stringContaining("NAME=SECRET/KEY")]);
    const refused = await client.run(["deploy", "--name", "no-cluster", ...from(a)], { cwd });
    expect([refused.code === 0, refused.stderr]).toEqual([
      false,
      expect.stringContaining("TREADLE_RUNTIME=kubernetes"),
    ]);
  });

  test("completion knows its subcommands", async () => {
    const { stdout } = await client.run(["complete", "listeners", ""]);
    for (const word of ["list", "create", "delete"]) expect(stdout.split("\n")).toContain(word);
  });
});
