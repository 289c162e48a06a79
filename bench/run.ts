import { execFileSync, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** `npm run bench` lists the questions; `npm run bench -- NAME` answers one. One at a time: they share the machine. */
const folder = fileURLToPath(new URL(".", import.meta.url));
const parts = new Set([
  "run",
  "load",
  "http-client",
  "subjects",
  "runs",
  "agent-figures",
  "agent-server-input",
  "python-subjects",
  "python-cost",
  "slowest-sync",
  "agent-server-sizes",
  "agent-server-tracing",
  "bulk-export-fill",
  "bulk-export-measure",
  "bulk-export-platform",
  "bulk-export-processes",
  "traces-fill",
  "traces-grow",
  "traces-engines-data",
  "traces-engines-merging",
  "traces-engines-indexes",
  "bench-database",
  "deployment-copies",
  "takeover-plane",
  "streaming-client",
  "process-cost",
  "processor-check",
  "earlier-checkout",
  "gateway-subject",
  "console-browser",
  "answers",
  "machine",
  "grown-database",
]);
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -3))
  .filter((name) => !parts.has(name));
const [name, ...rest] = process.argv.slice(2);
if (!name || !names.includes(name)) {
  console.log(`npm run bench -- NAME\n\n  ${names.join("\n  ")}\n\nFigures so far: bench/README.md`);
  process.exit(name ? 2 : 0);
}
// What is measured starts as it does after `npm ci`, also if a source was edited since.
execFileSync(process.execPath, [`${folder}../scripts/build-start.ts`]);
const child = spawn(process.execPath, [`${folder}${name}.ts`, ...rest], { stdio: "inherit" });
child.on("exit", (code) => process.exit(code ?? 1));
