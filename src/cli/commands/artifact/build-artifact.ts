import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { checkProject } from "../../../agent-server/graphs/check-project.ts";
import { childEnvironments } from "../../../config/index.ts";
import { packTree, unpackTree } from "../../../control-plane/builds/artifact-pack.ts";
import { BuildDeadline } from "../../../control-plane/builds/build-deadline.ts";
import type { BuildRequest } from "../../../control-plane/builds/build-request.ts";
import { explainDisk } from "../../../control-plane/builds/builder/builder.ts";
import { TreeBuilder } from "../../../control-plane/builds/builder/tree-builder.ts";
import {
  type BuildFailure,
  type BuildWork,
  toldLines,
} from "../../../control-plane/builds/pods/build-pod.ts";
import { BuildFailed, readProject } from "../../../control-plane/builds/project-files.ts";
import { Walls } from "../../../control-plane/sandbox/walls.ts";
import { AppError } from "../../../platform/errors.ts";
import { BuildLines } from "./build-lines.ts";
import { containerMemory } from "./container-memory.ts";
import { PlatformCalls } from "./platform-calls.ts";

/** A build that took too long says so; its Job ends it when nobody listens. */
const lastWordMs = 60_000;

export type BuildArtifactOptions = {
  /** Of this build, at the platform. */
  url: string;
  /** Everything is below it. */
  folder: string;
  tokenFile: string;
  environmentFile: string;
};

/**
 * One build, in a pod of its own: fetches the source, builds it with the code that builds everywhere, and hands in what
 * was built, or why it failed. Answers whether it was built; throws only when it cannot even report.
 */
export async function buildArtifact(options: BuildArtifactOptions): Promise<boolean> {
  const { url, folder } = options;
  const calls = new PlatformCalls({ url, token: (await readFile(options.tokenFile, "utf8")).trim() });
  const given = JSON.parse(await readFile(options.environmentFile, "utf8")) as Record<string, string>;
  const work = (await (await calls.attempt(() => calls.get(""))).json()) as BuildWork;
  const lines = new BuildLines(calls);
  const workFolder = join(folder, "builds", work.revision_id);
  const tree = join(workFolder, "source");
  const deadline = new BuildDeadline(work.timeout_ms, new AbortController().signal);
  try {
    await mkdir(workFolder, { recursive: true, mode: 0o711 });
    const fetchSource = async () => {
      const source = await calls.get("/source");
      await unpackTree(Readable.fromWeb(source.body!), tree);
    };
    await calls.attempt(fetchSource, { awayMs: 64_000, busyMs: deadline.leftMs() });
    await runBuild(work, { folder, workFolder, tree, given }, { lines, deadline });
    await lines.end();
    // What took so long to build is handed in while there is time.
    const handIn = () => calls.put("/artifact", () => Readable.from(packTree(tree), { objectMode: false }));
    await calls.attempt(handIn, { awayMs: deadline.leftMs() });
    return true;
  } catch (error) {
    await lines.end();
    const failure = await failureOf(error);
    const awayMs = Math.max(deadline.leftMs(), lastWordMs);
    await calls.attempt(() => calls.post("/failure", failure), { awayMs });
    return false;
  } finally {
    deadline.end();
  }
}

async function runBuild(
  work: BuildWork,
  at: { folder: string; workFolder: string; tree: string; given: Record<string, string> },
  { lines, deadline }: { lines: BuildLines; deadline: BuildDeadline },
): Promise<void> {
  const { folder, workFolder, tree } = at;
  const { signal } = deadline;
  const { config_path: configPath, install_command, build_command } = work;
  const request: BuildRequest = {
    ...{ revisionId: work.revision_id, workspaceId: "own", signal },
    source: () => Promise.reject(new Error("The source is here already.")),
    revisionConfig: { graph_config_path: configPath } as BuildRequest["revisionConfig"],
    buildConfig: { install_command, build_command } as BuildRequest["buildConfig"],
    onLine: (text, origin = "platform") => lines.add({ text, origin }),
    onCommit: async () => {},
    note: async (text, progress) => lines.add({ text, origin: "platform", progress }),
  };
  const place = () => ({
    ...{ workFolder, timeoutMs: deadline.leftMs(), signal },
    onLine: request.onLine,
  });
  const project = await readProject(tree, configPath, checkProject);
  const trees = new TreeBuilder({
    ...{ folder, pythons: [], maxBytes: work.max_bytes, isAlone: true },
    environment: { ...at.given, ...childEnvironments().build },
    // The container is around it.
    walls: new Walls({ setting: "off", mustPass: [] }),
  });
  await trees.build({ request, configPath, tree, place }, project);
}

/** In the words of the build, and with those of the tool that failed. */
async function failureOf(error: unknown): Promise<BuildFailure> {
  const memory = await containerMemory();
  const known = explainDisk(error);
  // The kernel ends one process of a container, or all of them: of one, the others live to tell.
  if (memory.ranOut) return { message: memory.words, tool: null };
  if (!(known instanceof AppError)) throw error;
  const tool = known instanceof BuildFailed ? known.tool : null;
  const cut = (text: string) => text.slice(-16_000);
  return {
    message: cut(known.message),
    tool: tool && {
      output: tool.output
        .slice(-toldLines)
        .flatMap((text) => text.slice(0, 4_000).split("\n"))
        .slice(-toldLines),
      reason: tool.reason ? cut(tool.reason) : null,
      isLogged: tool.isLogged,
    },
  };
}
