import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { programsFolder } from "../../../scripts/kubernetes/build-programs.ts";
import { runCommand } from "../components/run-command.ts";
import { createTempFolder } from "../components/temp-folder.ts";
import { agentImage } from "./images.ts";

export const chart = fileURLToPath(new URL("../../../deploy/chart", import.meta.url));

export type Values = { [name: string]: unknown };

/** Helm as it was built for the tests, or the one of this machine. */
export function runHelm(args: string[], timeoutMs = 120_000, input?: string) {
  const built = join(programsFolder(), "helm");
  const given = input === undefined ? {} : { input };
  return runCommand(existsSync(built) ? built : "helm", args, { timeoutMs, ...given });
}

/** What the chart makes of these values, in the release `t`. */
export async function renderChart<Item>(values: Values, namespace = "agents"): Promise<Item[]> {
  const args = ["template", "t", chart, "--namespace", namespace, "--values", "-"];
  const { stdout } = await runHelm(args, undefined, JSON.stringify(values));
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Item | null)
    .filter((each) => each !== null);
}

/** The image of the tests, which no node can pull. */
export function imageValues(): Values {
  const colon = agentImage.lastIndexOf(":");
  return {
    image: {
      ...{ repository: agentImage.slice(0, colon), tag: agentImage.slice(colon + 1) },
      pullPolicy: "Never",
    },
  };
}

const patience = ["--wait", "--timeout", "5m"];
const timeoutMs = 6 * 60_000;

/** One release of the chart in a namespace. */
export async function openRelease(namespace: string, release = "treadle") {
  const folder = await createTempFolder("helm");
  const where = ["--namespace", namespace];
  const valuesFile = join(folder.path, "values.json");
  return {
    name: release,
    async install(values: Values): Promise<string> {
      await writeFile(valuesFile, JSON.stringify(values));
      const args = ["upgrade", "--install", release, chart, ...where, "--values", valuesFile, ...patience];
      return (await runHelm(args, timeoutMs)).stdout;
    },
    rollback: (revision: number) =>
      runHelm(["rollback", release, String(revision), ...where, ...patience], timeoutMs),
    async history(): Promise<{ revision: number; status: string }[]> {
      const { stdout } = await runHelm(["history", release, ...where, "--output", "json"]);
      return JSON.parse(stdout) as { revision: number; status: string }[];
    },
    async uninstall(): Promise<void> {
      await runHelm(["uninstall", release, ...where, ...patience], timeoutMs);
    },
    remove: () => folder.remove(),
  };
}

export type Release = Awaited<ReturnType<typeof openRelease>>;
