import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { withFileLock } from "./file-lock.ts";
import { runCommand } from "./run-command.ts";

/** ClickHouse 26.7 as one library of 566 MB, and its checksum in the registry. */
const name = "@chdb/lib-linux-x64-gnu";
const version = "26.7.3-stable.1";
const checksum =
  "sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==";
const fetchTimeoutMs = 10 * 60_000;
const unfinishedPrefix = "unfinished-";
/** For hooks that start a server: they may have to fetch it, after another file could not. */
export const clickHouseStartLimitMs = 2 * fetchTimeoutMs + 60_000;

/**
 * The path of the library. It is fetched from npm once and kept beside other caches of this user: far too large for a dependency that
 * everybody installs. Test files run in parallel, so one of them fetches and the others wait.
 */
export async function clickHouseLibrary(): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(
      `There is no ClickHouse for tests on ${process.platform} ${process.arch}. Set TREADLE_TEST_CLICKHOUSE_URL to a server, such as http://127.0.0.1:8123.`,
    );
  }
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "treadle-clickhouse");
  const folder = join(cache, version);
  const library = join(folder, "node_modules", name, "libchdb.so");
  if (await exists(library)) return library;
  await mkdir(cache, { recursive: true });
  await withFileLock(join(cache, "fetch.lock"), fetchTimeoutMs + 30_000, async () => {
    if (await exists(library)) return;
    // Of processes that were killed.
    const left = (await readdir(cache)).filter((entry) => entry.startsWith(unfinishedPrefix));
    for (const entry of left) await rm(join(cache, entry), { recursive: true, force: true });
    console.log(`Fetching ClickHouse for tests into ${folder} (566 MB, once).`);
    await fetchPackage(cache, folder);
  });
  return library;
}

/** Under its name only when it is whole and has the checksum. */
async function fetchPackage(cache: string, folder: string): Promise<void> {
  const unfinished = await mkdtemp(join(cache, unfinishedPrefix));
  try {
    await writeFile(join(unfinished, "package.json"), JSON.stringify({ private: true }));
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"];
    await runCommand("npm", ["install", ...flags, `${name}@${version}`], {
      cwd: unfinished,
      timeoutMs: fetchTimeoutMs,
    });
    const lock = JSON.parse(await readFile(join(unfinished, "package-lock.json"), "utf8")) as {
      packages: Record<string, { integrity?: string }>;
    };
    const found = lock.packages[`node_modules/${name}`]?.integrity;
    if (found !== checksum) throw new Error(`${name} ${version} has the checksum ${found}, not ${checksum}.`);
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw new Error(
      `ClickHouse for tests could not be fetched from npm (${name} ${version}). Set TREADLE_TEST_CLICKHOUSE_URL to a server instead, such as http://127.0.0.1:8123.`,
      { cause: error },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
