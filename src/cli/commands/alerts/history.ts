import { AppError } from "../../../platform/errors.ts";
import { type AlertEvent, alertEvent } from "../../client/answers.ts";
import { alertPath, chooseAlert } from "../../client/choose-alert.ts";
import { openSession } from "../../client/session.ts";
import type { GlobalOptions } from "../../program.ts";
import { formatAge } from "../../terminal/amounts.ts";
import { printTable } from "../../terminal/table.ts";
import { plainText } from "../../terminal/text.ts";
import type { AlertHistoryOptions } from "./options.ts";

const styles = { firing: "red", resolved: "green" } as const;

export async function showHistory(given: string | undefined, options: AlertHistoryOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const path = given === undefined ? "/v2/alerts" : alertPath((await chooseAlert(api, given)).id);
  const events = await api.list(alertEvent, `${path}/history`, {}, options.limit);
  output.data(events);
  if (events.length === 0) {
    output.line("Nothing has happened yet.");
    return;
  }
  const now = new Date();
  printTable(
    output,
    [
      { head: "WHEN" },
      { head: "KIND" },
      { head: "MESSAGE", flexible: true },
      { head: "SENT", flexible: true },
    ],
    events.map((event) => [
      formatAge(event.at, now),
      { text: event.kind, style: styles[event.kind as keyof typeof styles] ?? "dim" },
      event.message,
      sentText(event),
    ]),
  );
}

export async function testAlert(given: string, options: GlobalOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await chooseAlert(api, given);
  const event = await api.call(alertEvent, "POST", `${alertPath(found.id)}/test`);
  output.data(event);
  for (const { channel, target, status, error } of event.deliveries)
    output.line(
      status === "sent"
        ? `${channel} to ${target}: ${output.paint("green", "sent")}`
        : `${channel} to ${target}: ${output.paint("red", status)}${error ? `, ${plainText(error)}` : ""}`,
    );
  const failed = event.deliveries.filter(({ status }) => status !== "sent");
  if (failed.length === 0) return;
  throw new AppError({
    code: "client.not_delivered",
    kind: "conflict",
    message: `The test of ${found.name} did not reach ${failed.map(({ target }) => target).join(", ")}.`,
  });
}

function sentText({ muted, deliveries }: AlertEvent): string {
  if (muted) return "muted";
  return deliveries
    .map(({ target, status, error }) => `${target} ${status}${error ? ` (${error})` : ""}`)
    .join(", ");
}
