import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { createTempFolder } from "../../../tests/support/components/temp-folder.ts";
import { chooseFiles } from "../../../web/console/src/pages/deployments/new/project-files.ts";
import { listFiles } from "./pack-folder.ts";

const project: Record<string, string> = {
  ".gitignore": "*.log\n/build/\n!keep.log\n",
  ".dockerignore": "docs\n!docs/used.md\n",
  ".env": "KEY=1",
  ".env.example": "KEY=",
  "agents/.env.local": "KEY=2",
  "langgraph.json": "{}",
  "src/agent.ts": "",
  "src/agent.log": "",
  "src/keep.log": "",
  "src/.gitignore": "private.ts\n",
  "src/private.ts": "",
  "src/deep/private.ts": "",
  "build/agent.js": "",
  "src/build/agent.js": "",
  "docs/page.md": "",
  "docs/used.md": "",
  "node_modules/a/index.js": "",
  "src/node_modules/b/index.js": "",
  ".git/config": "",
  ".venv/bin/python": "",
  "agents/__pycache__/x.pyc": "",
};

it("packs what the console uploads of the same folder", async () => {
  const folder = await createTempFolder("packed-files");
  try {
    for (const [path, text] of Object.entries(project)) {
      await mkdir(dirname(join(folder.path, path)), { recursive: true });
      await writeFile(join(folder.path, path), text);
    }
    const ignoreFiles = new Map(Object.entries(project).filter(([path]) => path.endsWith("ignore")));
    const { kept } = chooseFiles(Object.keys(project), ignoreFiles);
    const { paths } = await listFiles(folder.path);
    expect(paths).toContain("docs/used.md");
    expect(kept).toEqual(paths.toSorted());
  } finally {
    await folder.remove();
  }
});
