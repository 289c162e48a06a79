import { randomUUID } from "node:crypto";
import { Client } from "langsmith";
import { evaluate, evaluateComparative } from "langsmith/evaluation";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";
import { walkExample } from "../support/example-walk.ts";
import { sendRuns } from "../support/sent-runs.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let running: RunningConsole;
beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await running.app.call<Body>(method, path, body === undefined ? {} : { body });
  expect(answer.status).toBeLessThan(300);
  return answer.body;
}

const send = (project: string, names: readonly string[]) => sendRuns(running.app, project, names);

describe("from traces", () => {
  it("a selection of runs becomes examples of a new dataset", async () => {
    const { projectId, runs } = await send("chosen", ["one", "two", "three"]);
    const page = await running.open(`/traces/${projectId}`);
    await page.field("Choose one").check();
    await page.field("Choose three").check();
    await page.text("2 chosen").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Add to dataset").click();
    await page.field("Name of the new dataset").fill("picked");
    expect(await page.violations()).toEqual([]);
    await page.button("Add 2 runs").click();
    await page.text("2 runs added to picked.").waitFor();
    await page.text("2 chosen").waitFor({ state: "detached" });
    const [dataset] = await call<{ id: string }[]>("GET", "/api/v1/datasets?name=picked");
    const examples = await call<Record<string, unknown>[]>("GET", `/api/v1/examples?dataset=${dataset!.id}`);
    expect(
      examples.map(({ inputs, outputs, source_run_id }) => ({ inputs, outputs, source_run_id })),
    ).toEqual(
      ["one", "three"].map((name) => ({
        inputs: { question: `${name}?` },
        outputs: { answer: `${name}!` },
        source_run_id: runs.find((run) => run.name === name)!.id,
      })),
    );
    expect(page.errors).toEqual([]);
  });

  it("a step goes into a queue, and gets a thumb that can be turned and taken back", async () => {
    const { projectId, runs } = await send("thumbed", ["step"]);
    const [run] = runs;
    const page = await running.open(`/o/tenant/projects/p/${projectId}/r/${run!.id}?poll=true`);
    await page.button("Add to queue").click();
    await page.field("Name of the new queue").fill("to look at");
    await page.button("Add 1 run").click();
    await page.text("1 run added to to look at.").waitFor();
    const [queue] = await call<{ id: string }[]>("GET", "/api/v1/annotation-queues?name=to+look+at");
    const queued = await call<{ id: string }[]>("GET", `/api/v1/annotation-queues/${queue!.id}/runs`);
    expect(queued.map(({ id }) => id)).toEqual([run!.id]);

    const given = () => call<Record<string, unknown>[]>("GET", `/api/v1/feedback?run=${run!.id}`);
    const press = async (name: "Good" | "Bad", pressed: boolean) => {
      await page.button(name).click();
      await page.page.getByRole("button", { name, pressed }).waitFor();
    };
    await press("Good", true);
    expect(await given()).toMatchObject([{ key: "user_score", score: 1, feedback_source: { type: "app" } }]);
    await press("Bad", true);
    expect(await given()).toMatchObject([{ key: "user_score", score: 0 }]);
    await press("Bad", false);
    expect(await given()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("a link to a project, as the SDK prints it, opens its runs", async () => {
    const { projectId } = await send("linked", ["there"]);
    const page = await running.open(`/o/tenant/projects/p/${projectId}`);
    await page.heading("linked").waitFor();
    await page.link("there").waitFor();
  });
});

describe("datasets", () => {
  const file = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

  it("are made, filled from files, changed, exported and deleted", async () => {
    const page = await running.open("/datasets");
    await page.button("New dataset").first().click();
    await page.button("Make it").click();
    await page.text("Write a name.").waitFor();
    await page.field("Name").fill("capitals");
    await page.button("Make it").click();
    await page.heading("capitals").waitFor();
    await page.text("No examples yet").waitFor();
    expect(await page.violations()).toEqual([]);

    await page.button("Import a file").click();
    const chooser = page.field(/^CSV or JSON Lines/);
    await chooser.setInputFiles(file("bad.csv", 'country,capital\nFrance,"Paris\n'));
    await page.text("Line 2: a quote is opened here and never closed.").waitFor();
    expect(await page.page.getByRole("button", { name: "Add", exact: true }).isDisabled()).toBe(true);
    await chooser.setInputFiles(file("some.csv", "country,capital,answer\nFrance,x,Paris\nItaly,y,Rome\n"));
    await page.field("capital").selectOption("Leave out");
    await page.page.getByRole("table", { name: "What will be added" }).getByText("Rome").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Add 2 examples").click();
    await page.text("2 examples added.").waitFor();

    await page.button("New example").click();
    await page.field(/^Input/).fill('{"country": ');
    await page.text("This is not valid JSON.").waitFor();
    await page.field(/^Input/).fill('{"country": "Peru"}');
    await page.field(/^Reference output/).fill('{"answer": "Lima"}');
    expect(await page.violations()).toEqual([]);
    await page.button("Add example").click();
    await page.link("Peru").click();
    await page.field(/^Reference output/).fill('{"answer": "Lima, of course"}');
    await page.button("Save").click();
    await page.text("Lima, of course").waitFor();
    await page.link("Italy").click();
    await page.page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.button("Delete it permanently").click();
    await page.link("Italy").waitFor({ state: "detached" });

    const saved = page.page.waitForEvent("download");
    await page.button("Export JSONL").click();
    const stream = await (await saved).createReadStream();
    const text = Buffer.concat(await stream.toArray()).toString("utf8");
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ inputs, outputs }) => [inputs, outputs])).toEqual([
      [{ country: "France" }, { answer: "Paris" }],
      [{ country: "Peru" }, { answer: "Lima, of course" }],
    ]);

    await page.button("Rename the dataset").click();
    await page.page.getByRole("textbox", { name: "Name" }).fill("cities");
    await page.page.getByRole("button", { name: "Save", exact: true }).click();
    await page.heading("cities").waitFor();
    await page.button("Delete the dataset").click();
    await page.field(/to confirm/).fill("cities");
    await page.button("Delete it").click();
    await page.heading("Evaluation").waitFor();
    await page.settled();
    await page.link("cities").waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });
});

describe("experiments", () => {
  const answers = { one: "eins", two: "zwei", three: "drei" } as const;
  let datasetId: string;
  /** What the SDK printed, an address for each experiment. */
  const printed: string[] = [];
  let ids: string[] = [];

  const sdk = () =>
    new Client({ apiUrl: `${running.url}/api/v1`, apiKey: running.app.apiKey, webUrl: running.url });
  type Judged = { outputs: Record<string, unknown>; referenceOutputs?: Record<string, unknown> };
  /** As a person's program does it: answers all but one of the questions. */
  async function experiment(wrong: keyof typeof answers): Promise<void> {
    const client = sdk();
    const log = vi.spyOn(console, "log").mockImplementation((...words) => {
      const address = /View results at (\S+)/.exec(words.join(" "));
      if (address) printed.push(address[1]!);
    });
    await evaluate(
      ({ word }: { word: keyof typeof answers }) => ({ answer: word === wrong ? "?" : answers[word] }),
      {
        client,
        data: "numbers",
        experimentPrefix: `without-${wrong}`,
        evaluators: [
          async ({ outputs, referenceOutputs }: Judged) => ({
            key: "correct",
            score: outputs.answer === referenceOutputs?.answer ? 1 : 0,
          }),
        ],
      },
    );
    await client.awaitPendingTraceBatches();
    log.mockRestore();
  }

  beforeAll(async () => {
    datasetId = (await call<{ id: string }>("POST", "/api/v1/datasets", { name: "numbers" })).id;
    await call(
      "POST",
      "/api/v1/examples/bulk",
      Object.entries(answers).map(([word, answer]) => ({
        dataset_id: datasetId,
        inputs: { word },
        outputs: { answer },
      })),
    );
    await experiment("three");
    await experiment("two");
    ids = printed.map((address) => new URL(address).searchParams.get("selectedSessions")!);
    await vi.waitFor(
      async () => {
        const path = `/api/v1/datasets/${datasetId}/comparison?experiment=${ids.join("&experiment=")}`;
        const { keys } = await call<{ keys: { experiments: { n: number }[] }[] }>("GET", path);
        expect(keys[0]?.experiments.map(({ n }) => n)).toEqual([3, 3]);
      },
      { timeout: 30_000, interval: 200 },
    );
  });
  const body = (page: ConsolePage) =>
    page.page.getByRole("table", { name: "Examples and what experiments made of them" }).locator("tbody tr");

  it("the address that the SDK prints opens the rows with references, outputs and scores", async () => {
    const address = new URL(printed[0]!);
    expect(address.pathname).toBe(`/o/${running.app.workspaceId}/datasets/${datasetId}/compare`);
    const page = await running.open(`${address.pathname}${address.search}`);
    await page.heading(/^without-three/).waitFor();
    const row = body(page).filter({ hasText: "three" });
    await row.getByText("drei").waitFor();
    await row.getByText("correct 0").waitFor();
    expect(await body(page).count()).toBe(3);
    expect(await page.violations()).toEqual([]);
    await row.getByRole("button", { name: "Show all of this example" }).click();
    await row.getByText("answer:").first().waitFor();
    await row.getByRole("link", { name: "Trace" }).click();
    await page.page.getByRole("region", { name: "Chosen step" }).getByText("three").first().waitFor();
    await walkExample(page, "three", [/^without-three/, /^without-two/]);
    expect(page.errors).toEqual([]);
  });

  it("two are compared: what became better and worse, what changed, only regressions", async () => {
    const page = await running.open(`/datasets/${datasetId}/compare?selectedSessions=${ids[0]}`);
    await page.field("Compare with another experiment").selectOption(ids[1]!);
    await page.heading("Comparison of 2 experiments").waitFor();
    await page.text("1 better").waitFor();
    await page.text("1 worse").waitFor();
    await body(page).filter({ hasText: "two" }).getByText("Changed").waitFor();
    expect(await body(page).filter({ hasText: "one" }).getByText("Changed").count()).toBe(0);
    expect(await page.violations()).toEqual([]);
    await page.button("Only regressions (1)").click();
    await vi.waitFor(async () => expect(await body(page).count()).toBe(1), { timeout: 20_000 });
    await body(page).getByText("zwei").first().waitFor();
    await body(page).getByText("-1").waitFor();
    // The other way round the other example is the one that became worse.
    await page.button("Use as baseline").click();
    await body(page).filter({ hasText: "three" }).waitFor();
    await vi.waitFor(async () => expect(await body(page).count()).toBe(1), { timeout: 20_000 });
    expect(page.errors).toEqual([]);
  });

  it("the address of a pairwise evaluation opens its experiments with its own scores", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const compared = async (experimentPrefix: string, scores: readonly [number, number]) => {
      const { comparativeExperiment } = await evaluateComparative(ids as [string, string], {
        client: sdk(),
        experimentPrefix,
        evaluators: [
          ({ runs }: { runs: readonly { id: string }[] }) => ({
            key: "preferred",
            scores: Object.fromEntries(runs.map(({ id }, index) => [id, scores[index]!])),
          }),
        ],
      });
      return comparativeExperiment!;
    };
    const first = await compared("first-look", [1, 0]);
    await compared("second-look", [0, 1]);
    const address = log.mock.calls.map(
      ([text]) => /http\S+comparativeExperiment=\S+/.exec(String(text))?.[0],
    );
    log.mockRestore();
    const { pathname, searchParams } = new URL(address.find((each) => each?.includes(first.id))!);
    expect(pathname).toBe(`/o/${running.app.workspaceId}/datasets/${datasetId}/compare`);
    // The comparison alone says which experiments are meant.
    searchParams.delete("selectedSessions");
    const page = await running.open(`${pathname}?${searchParams}`);
    await page.heading(first.name).waitFor();
    await page.page.getByRole("columnheader", { name: /preferred 1/ }).waitFor();
    await page.page.getByRole("columnheader", { name: /preferred 0/ }).waitFor();
    expect(await body(page).getByText("preferred 0.5").count()).toBe(0);
    expect(await page.violations()).toEqual([]);
    await page.visit(`/datasets/${datasetId}?tab=experiments`);
    await page.link(first.name).click();
    await page.heading(first.name).waitFor();
    await page.visit(`${pathname}?selectedSessions=${ids[0]}&comparativeExperiment=${randomUUID()}`);
    await page.text("The comparison of this link was deleted.").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("are listed with their scores, drawn over time, chosen and compared, also on a phone in the dark", async () => {
    const page = await running.open(`/datasets/${datasetId}?tab=experiments`);
    await page.page.getByRole("img", { name: /^correct over experiments/ }).waitFor();
    const table = page.page.getByRole("table", { name: "Experiments" });
    await table.getByText("correct 0.67").first().waitFor();
    expect(await page.violations()).toEqual([]);
    await table.getByRole("checkbox").first().check();
    await table.getByRole("checkbox").nth(1).check();
    await page.button("Compare 2").click();
    await page.heading("Comparison of 2 experiments").waitFor();
    // The older one is what the newer is compared with.
    expect(page.path).toBe(`/datasets/${datasetId}/compare?selectedSessions=${ids.join(",")}`);
    const small = await running.open(page.path, { viewport: phone, colorScheme: "dark" });
    await body(small).first().waitFor();
    expect(await small.overflowing()).toEqual([]);
    expect(await small.violations()).toEqual([]);
    await small.visit(`/datasets/${datasetId}?tab=experiments`);
    await small.page.getByRole("table", { name: "Experiments" }).getByText("correct 0.67").first().waitFor();
    expect(await small.overflowing()).toEqual([]);
    expect(await small.violations()).toEqual([]);
    await small.visit(`/datasets/${datasetId}`);
    await small.link("one").waitFor();
    expect(await small.overflowing()).toEqual([]);
    expect(await small.page.$eval(".table-box", (box) => box.scrollWidth > box.clientWidth)).toBe(false);
    expect(small.errors).toEqual([]);
  });
});

describe("an annotation queue", () => {
  it("is worked through with the keyboard, and what is given is feedback of the runs", async () => {
    const { runs } = await send("reviewed", ["third", "second", "first"]);
    const page = await running.open("/queues");
    await page.button("New queue").first().click();
    await page.page.getByRole("textbox", { name: "Name" }).fill("weekly");
    await page.field(/^Instructions/).fill("Is it right?");
    await page.field(/^Feedback keys/).fill("correct, polite");
    expect(await page.violations()).toEqual([]);
    await page.button("Make it").click();
    await page.text("The queue is empty").waitFor();
    const queueId = page.path.split("/").at(-1)!;
    for (const run of runs.toReversed())
      await call("POST", `/api/v1/annotation-queues/${queueId}/runs`, [run.id]);
    await page.page.reload();
    const shown = (name: string) => page.page.getByRole("heading", { name, exact: true, level: 2 }).waitFor();
    const press = (key: string) => page.page.keyboard.press(key);
    await shown("first");
    await page.text("0 of 3 done by you").waitFor();
    await page.text("Is it right?").waitFor();
    expect(await page.violations()).toEqual([]);

    await press("u");
    await press("d");
    await press("n");
    await page.page.keyboard.type("says it twice");
    await press("Control+Enter");
    await shown("second");
    await page.text("1 of 3 done by you").waitFor();
    await press("s");
    await shown("third");
    await press("d");
    await press("Enter");
    await page.text("2 of 3 done by you").waitFor();
    await shown("second");
    await press("Enter");
    await page.text("All done").waitFor();

    const client = new Client({ apiUrl: `${running.url}/api/v1`, apiKey: running.app.apiKey });
    const given = async (name: string) => {
      const runIds = runs.filter((run) => run.name === name).map(({ id }) => id);
      const found: unknown[] = [];
      for await (const { key, score, comment } of client.listFeedback({ runIds }))
        found.push({ key, score, comment });
      return found;
    };
    expect(await given("first")).toEqual(
      expect.arrayContaining([
        { key: "correct", score: 1, comment: null },
        { key: "polite", score: 0, comment: null },
        { key: "note", score: null, comment: "says it twice" },
      ]),
    );
    expect(await given("third")).toEqual([{ key: "correct", score: 0, comment: null }]);
    expect(await given("second")).toEqual([]);
    await page.button("Delete the queue").click();
    await page.button("Delete it").click();
    await page.heading("Evaluation").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("fits a phone in the dark", async () => {
    const { runs } = await send("looked-at", ["alone"]);
    const queue = await call<{ id: string }>("POST", "/api/v1/annotation-queues", { name: "small" });
    await call("POST", `/api/v1/annotation-queues/${queue.id}/runs`, [runs[0]!.id]);
    const page = await running.open(`/queues/${queue.id}`, { viewport: phone, colorScheme: "dark" });
    await page.page.getByRole("heading", { name: "alone" }).waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    await page.visit("/queues");
    await page.link("small").waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(page.errors).toEqual([]);
  });
});
