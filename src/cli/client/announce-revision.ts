import type * as answers from "./answers.ts";
import type { Session } from "./session.ts";

/** A pipe gets the address and nothing else. */
export function announceRevision(
  { output }: Pick<Session, "output">,
  deployment: answers.Deployment,
  revision: answers.Revision,
): void {
  if (!output.watched) {
    output.line(deployment.url);
    return;
  }
  output.line();
  output.line(
    `${output.paint(["bold", "green"], deployment.name)} serves revision ${revision.number} at ${output.paint("cyan", deployment.url)}`,
  );
  if (deployment.page_url) output.line(`Its pages open at ${output.paint("cyan", deployment.page_url)}`);
  output.line(
    output.paint(
      "dim",
      `treadle runs start -d ${deployment.name} --input "Hello"   treadle logs ${deployment.name} -f`,
    ),
  );
}
