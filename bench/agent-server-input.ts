import { randomUUID } from "node:crypto";
import { HttpClient } from "./http-client.ts";
import { costOf } from "./process-cost.ts";
import { freePort, ours, stop, untilHealthy } from "./subjects.ts";

const rounds = Number(process.env.BENCH_RUNS ?? 100);
const warmUp = 30;
/** About a megabyte of small objects, which no channel of the graph takes: what is measured is the way to the graph. */
const filler = Array.from({ length: 10_000 }, (_, index) => ({
  id: index,
  name: `entry number ${index}`,
  tags: ["first", "second", "third"],
  nested: { flag: index % 2 === 0, value: index / 7 },
}));

const question = { role: "user", content: "hello there" };
/** About a megabyte that the graph keeps: it is in the values that a run streams and ends with. */
const conversation = Array.from({ length: 2_000 }, (_, index) => ({
  role: "user",
  content: `message number ${index}: ${"a few more words ".repeat(25)}`,
}));

/** What a run costs the server's processor when it is given little, a megabyte to pass on, and a megabyte to keep. */
export async function measureInput(): Promise<void> {
  const port = await freePort();
  const child = ours.start(port);
  try {
    const http = new HttpClient(port, 4);
    await untilHealthy(http);
    const megabytes = JSON.stringify(filler).length / 1_000_000;
    for (const [name, given] of [
      ["a few bytes", {}],
      [`${megabytes.toFixed(1)} MB`, { filler }],
      [`a state of ${conversation.length} messages`, { messages: conversation }],
    ] as const) {
      const run = async () => {
        const input = { messages: [question], ...given };
        const body = { assistant_id: "echo", if_not_exists: "create", input };
        await http.call("POST", `/threads/${randomUUID()}/runs/wait`, body);
      };
      for (let round = 0; round < warmUp; round += 1) await run();
      const before = costOf([child.pid!]).cpuMs;
      for (let round = 0; round < rounds; round += 1) await run();
      const perRun = (costOf([child.pid!]).cpuMs - before) / rounds;
      console.log(`${name}: ${perRun.toFixed(1)} ms of the server's processor per run`);
    }
    http.close();
  } finally {
    await stop(child);
  }
}
