import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * `npm run test:python`: what needs Python packages of PyPI beside npm and Debian.
 * `--if-possible` prints when this machine cannot have them, and exits with 0.
 */
const packages = [
  "langsmith==0.14.17",
  "langgraph==1.2.20",
  "langgraph-sdk==0.4.14",
  "langgraph-checkpoint-conformance==0.0.2",
  "fastapi==0.162.4",
  ...[
    "ruff==0.17.4",
    "mypy==2.4.1",
    "pytest==9.2.0",
    "pytest-asyncio==1.4.1.post1",
    "hypothesis==6.170.15",
    "numpy==2.4.6",
  ],
];

type Ended = { code: number; output: string };

function run(command: string, args: string[], environment: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "inherit", "pipe"],
      env: { ...process.env, ...environment },
    });
    let output = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      process.stderr.write(text);
      output = `${output}${text}`.slice(-2000);
    });
    child.on("error", (error) => resolve({ code: 1, output: error.message }));
    child.on("exit", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** A Python with the packages, or why there is none. */
async function prepare(folder: string): Promise<string | undefined> {
  const made = await run("python3", ["-m", "venv", folder]);
  if (made.code !== 0) return `python3 -m venv failed: ${made.output.trim()}`;
  const pip = ["-m", "pip", "install", "-q", "--retries", "1", "--timeout", "15", ...packages];
  const installed = await run(join(folder, "bin", "python"), pip);
  return installed.code === 0
    ? undefined
    : `pip install ${packages.join(" ")} failed: ${installed.output.trim()}`;
}

/** The checks of the Python side, its own tests, then those over the whole server. All of them, whatever one finds. */
async function runAll(python: string): Promise<number> {
  const checks = [
    ["ruff", "check", "python"],
    ["ruff", "format", "--check", "python"],
    ["mypy", "--config-file", "python/pyproject.toml", "python/treadle_python"],
    ["pytest", "-q", "-c", "python/pyproject.toml", "--rootdir", "python", "python/tests"],
  ];
  const failed: string[] = [];
  for (const [module, ...args] of checks) {
    const { code } = await run(python, ["-m", module!, ...args]);
    if (code !== 0) failed.push(module!);
  }
  const files = ["tests/python", "tests/conformance/agents"];
  const { code } = await run("vitest", ["run", ...files], { TREADLE_TEST_PYTHON: python });
  if (code !== 0) failed.push("vitest");
  if (failed.length > 0) console.error(`Failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
}

const ifPossible = process.argv.includes("--if-possible");
const folder = await mkdtemp(join(tmpdir(), "treadle-python-"));
try {
  const trouble = await prepare(folder);
  if (trouble === undefined) {
    process.exitCode = await runAll(join(folder, "bin", "python"));
  } else {
    console.error(`The Python tests are NOT run: ${trouble}`);
    process.exitCode = ifPossible ? 0 : 1;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
