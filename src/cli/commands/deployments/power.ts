import { setTimeout as delay } from "node:timers/promises";
import { type Deployment, deployment } from "../../client/answers.ts";
import { chooseDeployment } from "../../client/choose-deployment.ts";
import { openSession } from "../../client/session.ts";
import type { DeploymentsOptions } from "./options.ts";

export type Power = "stop" | "start" | "restart" | "sleep" | "wake";

const pollMs = 300;
const patienceMs = 60_000;

const said: Record<Power, (of: Deployment) => string> = {
  stop: ({ name }) =>
    `${name} is stopped. Requests are answered with 503; \`treadle deployments start ${name}\` starts it again.`,
  start: ({ name, url }) => `${name} serves at ${url}.`,
  restart: ({ name }) =>
    `${name} is being restarted: the server that runs now serves until the new one is ready. \`treadle logs ${name} -f\` follows it.`,
  sleep: ({ name, health }) =>
    health.state === "asleep"
      ? `${name} is asleep. The next request, cron or delayed run wakes it.`
      : `${name} stays awake, because it has something to do. \`treadle logs ${name}\` says what.`,
  wake: ({ name, url }) => `${name} serves at ${url}.`,
};

export async function powerDeployment(
  power: Power,
  given: string | undefined,
  options: DeploymentsOptions,
): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseDeployment(api, given);
  let current = await api.call(deployment, "POST", `/v2/deployments/${found.id}/${power}`);
  // What is asked for is stored; that it serves takes a moment, and is worth the wait.
  const isAwaited = power !== "stop" && power !== "restart";
  const deadline = performance.now() + (isAwaited ? patienceMs : 0);
  while (isOnItsWay(current) && performance.now() < deadline) {
    await delay(pollMs);
    current = await api.call(deployment, "GET", `/v2/deployments/${found.id}`);
  }
  output.data(current);
  if ((power === "start" || power === "wake") && current.health.state !== "serving")
    output.line(
      `${found.name} is meant to run now; its server is not ready yet (${current.health.state}). \`treadle logs ${found.name} -f\` follows it.`,
    );
  else output.line(said[power](current));
}

const onTheirWay = ["starting", "stopped", "waking"];

const isOnItsWay = ({ health, sleep, active_revision_id: active }: Deployment) =>
  active != null && (onTheirWay.includes(health.state) || sleep?.state === "falling_asleep");
