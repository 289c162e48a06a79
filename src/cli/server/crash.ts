import type { Logger } from "../../platform/logger.ts";
import type { StopReason } from "./stop-signals.ts";

/** An uncaught error: the state is unknown, so stop in order and exit with a failure. */
export function watchCrash(logger: Logger): Promise<StopReason> {
  return new Promise((resolve) => {
    const crash = (error: unknown) => {
      logger.fatal({ err: error }, "unexpected error; stopping");
      resolve({ name: "an unexpected error", exitCode: 1, clean: false });
    };
    process.on("uncaughtException", crash);
    process.on("unhandledRejection", crash);
  });
}
