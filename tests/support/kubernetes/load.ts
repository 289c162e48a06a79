/** Many times what a pod's start leaves room for would only measure this machine. */
const everyMs = 40;

export type Load = {
  /** Requests that were answered as they should be. */
  readonly answered: number;
  readonly failures: readonly string[];
  stop(): Promise<void>;
};

/**
 * 25 requests a second, in turns, until it is stopped; slow answers do not hold up the next ones. What is not answered with a success is
 * a failure; nothing is tried again.
 */
export function startLoad(requests: readonly (() => Promise<Response>)[]): Load {
  const failures: string[] = [];
  const going = new Set<Promise<void>>();
  let answered = 0;
  let turn = 0;
  const ask = async (request: () => Promise<Response>) => {
    try {
      const response = await request();
      const text = await response.text();
      if (response.ok) answered += 1;
      else failures.push(`${response.status} ${text.slice(0, 300)}`);
    } catch (error) {
      failures.push(`${error} ${(error as Error).cause ?? ""}`);
    }
  };
  const timer = setInterval(() => {
    turn += 1;
    const one = ask(requests[turn % requests.length]!).finally(() => going.delete(one));
    going.add(one);
  }, everyMs);
  return {
    get answered() {
      return answered;
    },
    failures,
    async stop() {
      clearInterval(timer);
      await Promise.all(going);
    },
  };
}
