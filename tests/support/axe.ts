import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export type Violation = { id: string; impact: string; html: string };

/** Problems a person with a disability would hit on the page, as axe rates them. */
export async function findViolations(page: Page): Promise<Violation[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  // Half-way through a change of colours the contrast is nobody's; what turns for ever is not waited for.
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished))`);
  return page.evaluate(async () => {
    type Found = { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<Found> } };
    // Every rule is checked; of what passed only one place is described.
    return (await axe.run({ resultTypes: ["violations"] })).violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      html: nodes[0]?.html ?? "",
    }));
  });
}
