import { expect } from "vitest";
import type { ConsolePage } from "./console-page.ts";

/** From the page of a run to its example, to what each experiment made of it, and back to a run. */
export async function walkExample(page: ConsolePage, input: string, experiments: RegExp[]): Promise<void> {
  const step = page.page.getByRole("region", { name: "Chosen step" });
  await step.getByRole("link", { name: /^[0-9a-f-]{36}$/ }).click();
  const runs = page.page.getByRole("dialog").getByRole("table", { name: "Runs in experiments" });
  for (const name of experiments) await runs.getByRole("link", { name }).waitFor();
  await runs.getByText("correct 1").waitFor();
  expect(await page.violations()).toEqual([]);
  await runs.getByTitle("Its trace").first().click();
  await step.getByText(input).first().waitFor();
}
