import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startDev } from "./agent-command.ts";
import { waitUntil } from "./components/wait-until.ts";

export type Reload = {
  reloaded: boolean;
  changed: string[];
  graphs?: string[];
  error?: { code: string; message: string };
};

/** The real `treadle dev` over a folder whose files a test changes. */
export async function startReloadingAgent(folder: string, env: Record<string, string>) {
  const agent = await startDev(folder, env);
  let taken = 0;
  const reloads = () =>
    agent.process
      .output()
      .split("\n")
      .filter((line) => line.startsWith('{"reloaded"'))
      .map((line) => JSON.parse(line) as Reload);
  /** The outcome of the change after the last one that was asked for. */
  const nextReload = async (): Promise<Reload> => {
    const found = await waitUntil(() => reloads()[taken], {
      what: `reload ${taken + 1}`,
      timeoutMs: 60_000,
      evidence: () => agent.process.output().slice(-3_000),
    });
    taken += 1;
    return found;
  };
  const change = async (file: string, edit: (text: string) => string): Promise<Reload> => {
    const path = join(folder, file);
    await writeFile(path, edit(await readFile(path, "utf8")));
    return nextReload();
  };
  return { ...agent, change, nextReload };
}
