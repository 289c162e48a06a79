import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type DeploymentConfig, readConfig } from "../../src/config/index.ts";
import { startAgent } from "./agent-command.ts";
import { ensureBubblewrap } from "./components/bubblewrap.ts";
import { runCommand } from "./components/run-command.ts";
import { createTempFolder } from "./components/temp-folder.ts";
import { packageRoot } from "./control-plane.ts";
import { createTestDatabase } from "./database.ts";
import { oncePerRun } from "./once-per-run.ts";
import { quickProject } from "./quick-project.ts";

/**
 * What Node compiles to serve a project, for TREADLE_AGENT_COMPILE_CACHE: a deployed server begins with an empty home,
 * and most of its start is reading Treadle's own source for the first time.
 */
export function compiledAgent(): Promise<string> {
  return oncePerRun("compiled-agent", async (folder) => {
    const project = await createTempFolder("compiled-agent");
    const database = await createTestDatabase({ poolSize: 1 });
    try {
      for (const [path, text] of Object.entries(quickProject("compiled"))) {
        await mkdir(dirname(join(project.path, path)), { recursive: true });
        await writeFile(join(project.path, path), text!);
      }
      await symlink(join(packageRoot, "node_modules"), join(project.path, "node_modules"));
      const agent = await startAgent(join(project.path, "langgraph.json"), {
        DATABASE_URL: database.url,
        NODE_COMPILE_CACHE: folder,
      });
      const run = await fetch(`${agent.ready.url}/runs/wait`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ assistant_id: "echo", input: { messages: [] } }),
      });
      if (!run.ok) throw new Error(`The run answered ${run.status}: ${await run.text()}`);
      // Written when it ends in order.
      const { code } = await agent.process.stop();
      if (code !== 0) throw new Error(`The agent server ended with ${code}:\n${agent.process.output()}`);
      // Deployments share what all may read and none may write.
      await runCommand("chmod", ["-R", "a+rX,go-w", folder]);
    } finally {
      await database.drop();
      await project.remove();
    }
  });
}

/** Settings under which deployments begin with it. */
export async function quickDeployments(more: Partial<DeploymentConfig> = {}): Promise<DeploymentConfig> {
  // As root there is no other wall around what is deployed.
  if (process.getuid?.() === 0) await ensureBubblewrap();
  return { ...readConfig({}).deployments, compileCache: await compiledAgent(), ...more };
}
