import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { samplePost } from "../../../tests/support/traces-app.ts";
import { priceTable } from "./model-prices.ts";
import { readPriceFile } from "./price-file.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("prices");
});
afterAll(() => folder.remove());

async function file(text: string): Promise<string> {
  const path = join(folder.path, "prices.json");
  await writeFile(path, text);
  return path;
}

const entry = { match: "my-own", input: 1, output: 2 };

describe("runs of a server with a price file", () => {
  let app: TestApp;
  beforeAll(async () => {
    const prices = [
      { match: "my-own", input: 2, output: 4, cache_read: 1, cache_write: 3 },
      { match: "gpt-4o*", provider: "azure", input: 20, output: 40 },
      { match: "gpt-4o-mini", input: 7, output: 9 },
    ];
    app = await createTestApp({ modelPricesFile: await file(JSON.stringify(prices)) });
  });
  afterAll(() => app.stop());

  async function costsOf(provider: string, model: string) {
    const usage = {
      input_tokens: 1_000_000,
      output_tokens: 1_000_000,
      input_token_details: { cache_read: 250_000, cache_creation: 250_000 },
    };
    const post = samplePost({
      run_type: "llm",
      end_time: "2026-10-05T10:00:01Z",
      extra: { metadata: { ls_provider: provider, ls_model_name: model } },
      outputs: { usage_metadata: usage },
    });
    expect((await app.call("POST", "/api/v1/runs", { body: post })).status).toBe(202);
    const { body } = await app.call<Record<string, unknown>>("GET", `/api/v1/runs/${post.id}`);
    return [Number(body.prompt_cost), Number(body.completion_cost), body.total_cost === null];
  }

  test("a model of one's own has a cost, cached tokens at their own price", async () => {
    expect(await costsOf("homegrown", "my-own")).toEqual([0.5 * 2 + 0.25 * 1 + 0.25 * 3, 4, false]);
  });

  test("a built-in model has the new price, where the entry names a provider only there", async () => {
    expect(await costsOf("openai", "gpt-4o-mini")).toEqual([7, 9, false]);
    expect(await costsOf("azure", "gpt-4o-2024-08-06")).toEqual([20, 40, false]);
  });

  test("other models keep the built-in price, or none", async () => {
    expect(await costsOf("openai", "gpt-4o")).toEqual([0.75 * 2.5 + 0.25 * 1.25, 10, false]);
    expect(await costsOf("homegrown", "my-own-2")).toEqual([0, 0, true]);
  });
});

describe("an own price", () => {
  const priceOf = priceTable([
    { match: "Meta-Llama/llama-3*", price: { input: 1, output: 1 } },
    { match: "qwen*", price: { input: 2, output: 2 } },
    { match: "qwen-max", price: { input: 3, output: 3 } },
  ]);

  test("is found by the name with and without the gateway's prefix, in any case", () => {
    expect(priceOf(null, "meta-llama/Llama-3-70b")?.input).toBe(1);
    expect(priceOf("together", "llama-3-70b")).toBeUndefined();
    expect(priceOf("openrouter", "qwen/Qwen-2")?.input).toBe(2);
  });

  test("that comes first in the file wins", () => {
    expect(priceOf(null, "qwen-max")?.input).toBe(2);
  });

  test("for one provider is not given to a run that names none", () => {
    const azure = priceTable([{ match: "gpt-4o", provider: "Azure", price: { input: 9, output: 9 } }]);
    expect(azure("azure", "gpt-4o")?.input).toBe(9);
    expect(azure(null, "gpt-4o")?.input).toBe(2.5);
  });
});

describe("a file that cannot be used says why", () => {
  test.each([
    ["{", "it is not JSON"],
    ["{}", "it is not a list"],
    [JSON.stringify([entry, "x"]), "entry 2: "],
    [JSON.stringify([{ ...entry, input: "1" }]), 'entry 1 ("my-own"): input: must be a number'],
    [JSON.stringify([{ ...entry, output: -1 }]), 'entry 1 ("my-own"): output: '],
    [JSON.stringify([{ match: "my-own", input: 1 }]), 'entry 1 ("my-own"): output: must be a number'],
    [JSON.stringify([{ ...entry, cached: 1 }]), '"cached"'],
    [JSON.stringify([{ ...entry, match: "a*b" }]), 'entry 1 ("a*b"): match: may have one *, at its end'],
    [JSON.stringify([{ ...entry, match: " " }]), "match: must not be empty"],
    [JSON.stringify([{ input: 1, output: 2 }]), "entry 1: match: must be text"],
    [
      JSON.stringify([entry, { ...entry, match: "My-Own" }]),
      'entry 2 ("My-Own") is for the same model as entry 1',
    ],
  ])("%s", async (text, problem) => {
    const path = await file(text);
    await expect(readPriceFile(path)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining(problem),
    });
    await expect(readPriceFile(path)).rejects.toThrow(`TREADLE_MODEL_PRICES_FILE (${path})`);
  });

  test("one that is not there, and a folder", async () => {
    await expect(readPriceFile(join(folder.path, "none"))).rejects.toThrow("it does not exist");
    await expect(readPriceFile(folder.path)).rejects.toThrow("it cannot be read (EISDIR)");
  });
});
