import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/**
 * What readers cost that ask for one large event and do not read: memory of the server, and how long `/ok` takes.
 * `npm run bench -- slow-readers [READERS] [MEGABYTES] [ROOT]`; ROOT is another checkout, to compare with.
 */
const [readers = 200, megabytes = 10] = process.argv.slice(2, 4).map(Number);
const root = process.argv[4] ?? fileURLToPath(new URL("..", import.meta.url));
const config = fileURLToPath(new URL("./fixtures/agents/langgraph.json", import.meta.url));
const dataDir = mkdtempSync(join(tmpdir(), "slow-readers-"));
const server = spawn(
  process.execPath,
  [join(root, "bin/treadle.js"), "agent", "--json", "--port", "0", "--config", config, "--data-dir", dataDir],
  { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, TREADLE_LOG_LEVEL: "error" } },
);
const ready = Promise.withResolvers<{ url: string; port: number; pid: number }>();
let output = "";
server.stdout.on("data", (text: Buffer) => {
  output += text.toString();
  const line = output.split("\n").find((each) => each.startsWith('{"url"'));
  if (line) ready.resolve(JSON.parse(line));
});
const { url, port, pid } = await ready.promise;
const rssMb = () =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024);
const post = (path: string, body: unknown) =>
  fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const sockets: Socket[] = [];
try {
  const { thread_id } = (await (await post("/threads", {})).json()) as { thread_id: string };
  const content = "x".repeat(megabytes * 1_000_000);
  const input = { messages: [{ role: "user", content }] };
  const run = await post(`/threads/${thread_id}/runs`, {
    assistant_id: "echo",
    input,
    stream_mode: ["values"],
  });
  const { run_id } = (await run.json()) as { run_id: string };
  await (await fetch(`${url}/threads/${thread_id}/runs/${run_id}/join`)).text();
  await delay(2_000);
  const before = rssMb();
  for (let index = 0; index < readers; index += 1) {
    const socket = connect(port, "127.0.0.1").pause();
    socket.on("error", () => undefined);
    socket.write(
      `GET /threads/${thread_id}/runs/${run_id}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: -1\r\n\r\n`,
    );
    sockets.push(socket);
  }
  let peak = before;
  let slowestMs = 0;
  const end = performance.now() + 20_000;
  while (performance.now() < end) {
    const asked = performance.now();
    await (await fetch(`${url}/ok`)).text();
    slowestMs = Math.max(slowestMs, Math.round(performance.now() - asked));
    peak = Math.max(peak, rssMb());
    await delay(100);
  }
  console.log(
    JSON.stringify({
      readers,
      megabytes,
      beforeMb: before,
      peakMb: peak,
      endMb: rssMb(),
      slowestOkMs: slowestMs,
    }),
  );
} finally {
  for (const socket of sockets) socket.destroy();
  server.kill("SIGTERM");
  await new Promise((resolve) => server.once("exit", resolve));
  rmSync(dataDir, { recursive: true, force: true });
}
