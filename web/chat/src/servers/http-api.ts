/** A request the server refused, with its message. */
export class RefusedError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export type HttpApi = {
  call<Answer>(method: string, path: string, body?: unknown): Promise<Answer>;
};

/** JSON to and from one server. */
export function httpApi(apiUrl: string, send: typeof fetch): HttpApi {
  return {
    async call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
      const response = await send(`${apiUrl}${path}`, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      const text = await response.text();
      if (!response.ok) throw new RefusedError(response.status, refusal(text, response));
      return (text === "" ? undefined : JSON.parse(text)) as Answer;
    },
  };
}

function refusal(text: string, response: Response): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === "string") return detail;
  } catch {
    // Not from our server, so only the status is known.
  }
  return `The server answered ${response.status} ${response.statusText}.`;
}
