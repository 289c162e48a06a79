import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The slowest kinds first, so that all processes are busy to the end: the last files take no time. */
const kinds = ["tests/journeys/", "tests/browser/", "tests/faults/", "tests/", ""];

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const path = relative(this.ctx.config.root, moduleId);
      return kinds.findIndex((kind) => path.startsWith(kind));
    };
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
