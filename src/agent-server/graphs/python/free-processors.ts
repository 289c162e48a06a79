import { cpus } from "node:os";

type Used = { idle: number; all: number };

/** How many processors of this machine had nothing to do since the last look. */
export class FreeProcessors {
  #before = used();

  look(): number {
    const now = used();
    const { idle, all } = this.#before;
    this.#before = now;
    const share = now.all > all ? (now.idle - idle) / (now.all - all) : 0;
    return share * cpus().length;
  }
}

function used(): Used {
  const times = cpus().map((each) => each.times);
  const idle = times.reduce((sum, each) => sum + each.idle, 0);
  const all = times.reduce((sum, each) => sum + each.user + each.nice + each.sys + each.idle + each.irq, 0);
  return { idle, all };
}
