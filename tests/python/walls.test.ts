import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { childEnvironments } from "../../src/config/index.ts";
import { pythonMounts } from "../../src/control-plane/builds/python/built-environment.ts";
import { machinePythons } from "../../src/control-plane/builds/python/python-builder.ts";
import { DockerRuntime } from "../../src/control-plane/runtimes/docker/docker-runtime.ts";
import { Walls } from "../../src/control-plane/sandbox/walls.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { startDocker } from "../support/components/docker.ts";
import { machineWalls, packageRoot, treadleCommand } from "../support/control-plane.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";

const timeout = 400_000;
const settings = { bakeMs: 0 };
const deployed = { status: "DEPLOYED", status_message: expect.any(String) };

/** Answers which user and which library it runs with. */
const agent = `import os
from importlib.metadata import version
from typing import TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    uid: int
    library: str


def look(state: State) -> State:
    return {"uid": os.getuid(), "library": version("langgraph")}


graph = StateGraph(State).add_node("look", look).add_edge(START, "look").compile()
`;

const projectWith = (requirement: string) => ({
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.py:graph" }, dependencies: ["."] }),
  "requirements.txt": `${requirement}\n`,
  "agent.py": agent,
});

type Seen = { uid: number; library: string };

async function deployAndAsk({ plane, git }: DeploymentSite, name: string, requirement: string) {
  const repository = await git.createRepository(name, projectWith(requirement));
  const { deployment, revision } = await deploy(plane, gitDeployment(name, repository.url));
  expect(revision).toMatchObject(deployed);
  const client = new Client({ apiUrl: deployment.url, apiKey: plane.apiKey });
  const ask = async () => (await client.runs.wait(null, "agent", { input: {} })) as Seen;
  return { client, ask, seen: await ask() };
}

describe("a Python project is built and served", () => {
  it("as a user of its own where there is no sandbox, beside one with another version of the library", {
    timeout,
  }, async () => {
    const walls = new Walls({
      setting: "auto",
      mustPass: [process.execPath, packageRoot],
      path: "/nonexistent",
    });
    expect((await walls.isolation()).kind).toBe("users");
    const site = await startDeploymentSite("python-users", { settings, walls, folderMode: 0o755 });
    onTestFinished(() => site.stop());
    const newer = await deployAndAsk(site, "newer", "langgraph==1.2.20");
    const older = await deployAndAsk(site, "older", "langgraph==0.6.11");
    expect([newer.seen.library, older.seen.library]).toEqual(["1.2.20", "0.6.11"]);
    expect(new Set([0, newer.seen.uid, older.seen.uid]).size).toBe(3);
    // Both at once.
    expect(await Promise.all([newer.ask(), older.ask()])).toEqual([newer.seen, older.seen]);
    // What the build kept of each.
    for (const { client } of [newer, older]) {
      const [assistant] = await client.assistants.search({ graphId: "agent" });
      const { input_schema } = await client.assistants.getSchemas(assistant!.assistant_id);
      expect(Object.keys((input_schema as { properties: object }).properties)).toEqual(["uid", "library"]);
    }
  });

  it("as the platform's own user where walls are off", { timeout }, async () => {
    const walls = machineWalls("off");
    const site = await startDeploymentSite("python-off", { settings, walls, folderMode: 0o755 });
    onTestFinished(() => site.stop());
    const { seen } = await deployAndAsk(site, "open", "langgraph==1.2.20");
    expect(seen.library).toBe("1.2.20");
  });

  it("in a container that has the Python it was built with", { timeout }, async () => {
    const docker = await startDocker();
    onTestFinished(() => docker.stop());
    const baseImage = await docker.buildNodeImage();
    const url = { database: "", platform: "" };
    // The image of the tests has no Python: what this machine's needs stands in for an image's own.
    const machine = ["/usr/bin", "/usr/lib"];
    const { build: environment } = childEnvironments();
    const runtime = new DockerRuntime({
      ...{ socketPath: docker.socketPath, baseImage, subnets: docker.subnets, allowRoot: false },
      command: [process.execPath, ...treadleCommand.slice(1)],
      binds: [packageRoot, ...machine].map((path) => `${path}:${path}:ro`),
      logger: createLogger({ level: "silent" }),
      projectMounts: (folder, configPath) =>
        pythonMounts(machinePythons({ folder, environment, named: [] }), folder, configPath),
      reach: {
        get databaseUrl() {
          return url.database;
        },
        platformUrl: () => url.platform,
      },
    });
    const site = await startDeploymentSite("python-docker", { settings, runtime });
    onTestFinished(() => site.stop());
    url.database = site.database.url;
    url.platform = site.plane.url;
    const { seen } = await deployAndAsk(site, "contained", "langgraph==1.2.20");
    expect(seen.library).toBe("1.2.20");
    expect(seen.uid).not.toBe(0);
  });
});
