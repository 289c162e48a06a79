import { AppError } from "../../../../platform/errors.ts";
import type { WrittenRow } from "./run-row.ts";

const [firstTime, lastTime] = ["1900-01-01 00:00:00.000000", "2299-12-31 23:59:59.999999"];
const maxDollars = 1e20;

/** A column would silently hold another value for what is beyond its range, so it is looked at before. */
export function checkStorable(row: WrittenRow): void {
  const times = {
    start_time: row.start_time,
    end_time: row.ended[0],
    "time of the first token": row.first_token[0],
  };
  for (const [name, time] of Object.entries(times)) {
    if (time !== undefined && (time < firstTime || time > lastTime))
      throw notStorable(row, `its ${name} is ${time}; years from 1900 to 2299 can be stored`);
  }
  const tokens = [row.prompt_tokens, row.completion_tokens, row.total_tokens];
  if (!tokens.every(Number.isSafeInteger))
    throw notStorable(row, "its tokens, with those of the runs below it, are more than can be counted");
  if (row.costs.some((cost) => cost !== null && Math.abs(Number(cost)) >= maxDollars))
    throw notStorable(row, "its cost, with those of the runs below it, has more than twenty digits");
}

function notStorable(row: WrittenRow, why: string): AppError {
  return new AppError({
    code: "traces.not_storable",
    kind: "unprocessable",
    message: `The run ${row.id} cannot be stored: ${why}. Correct it and send it again.`,
  });
}
