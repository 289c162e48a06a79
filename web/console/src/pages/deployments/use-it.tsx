import { useState } from "react";
import { Card, CopyBlock } from "../../ui/index.ts";

const ways = ["curl", "TypeScript", "Python"] as const;

function example(way: (typeof ways)[number], url: string): string {
  if (way === "curl") {
    return `curl ${url}/runs/wait \\
  -H "X-Api-Key: $TREADLE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"assistant_id": "YOUR_GRAPH", "input": {"messages": [{"role": "user", "content": "Hello"}]}}'`;
  }
  if (way === "TypeScript") {
    return `import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: "${url}", apiKey: process.env.TREADLE_API_KEY });
const [assistant] = await client.assistants.search();
const input = { messages: [{ role: "user", content: "Hello" }] };
console.log(await client.runs.wait(null, assistant.assistant_id, { input }));`;
  }
  return `import os
from langgraph_sdk import get_sync_client

client = get_sync_client(url="${url}", api_key=os.environ["TREADLE_API_KEY"])
assistant = client.assistants.search()[0]
input = {"messages": [{"role": "user", "content": "Hello"}]}
print(client.runs.wait(None, assistant["assistant_id"], input=input))`;
}

/** How to talk to the deployment from a program. */
export function UseIt({ url }: { url: string }) {
  const [way, setWay] = useState<(typeof ways)[number]>("curl");
  return (
    <Card className="stack">
      <fieldset className="bare row" aria-label="Language">
        {ways.map((name) => (
          <button
            key={name}
            type="button"
            className="button small"
            aria-pressed={way === name}
            onClick={() => setWay(name)}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <CopyBlock label={`${way} example`} text={example(way, url)} />
    </Card>
  );
}
