import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { createTempFolder } from "../../../tests/support/components/temp-folder.ts";
import { projectListing as project } from "../../../tests/support/project-listing.ts";
import { chooseFiles } from "../../../web/console/src/pages/deployments/new/project-files.ts";
import { listFiles } from "./pack-folder.ts";

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
