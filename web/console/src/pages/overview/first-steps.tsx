import { Link } from "wouter";
import { Card, CopyBlock } from "../../ui/index.ts";

/** For a platform on which nothing has happened yet: three things to do, each with what to type. */
export function FirstSteps() {
  const url = location.origin;
  return (
    <Card className="first-steps">
      <h2>First steps</h2>
      <p className="muted">Nothing has run here yet. Each of these takes a minute, in any order.</p>
      <ol>
        <li>
          <h3>Run the built-in agent</h3>
          <p className="muted">
            It needs no key and no network. Or talk to it in the <a href="/chat">chat</a>.
          </p>
          <CopyBlock
            label="run the built-in agent"
            text={`curl ${url}/runs/wait \\
  -H "X-Api-Key: $TREADLE_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"assistant_id": "agent",
       "input": {"messages": [{"role": "user", "content": "What is the weather in Paris?"}]}}'`}
          />
        </li>
        <li>
          <h3>Deploy your own agent</h3>
          <p className="muted">
            From <Link href="/deployments/new">a template, a folder or a repository</Link>, or on the command
            line in the folder of a TypeScript or Python project with a <code>langgraph.json</code>.
          </p>
          <CopyBlock label="deploy the project in this folder" text="treadle deploy" />
        </li>
        <li>
          <h3>Trace your own code</h3>
          <p className="muted">With the LangSmith SDK, in Python or JavaScript.</p>
          <CopyBlock
            label="settings for tracing"
            text={`export LANGSMITH_TRACING=true
export LANGSMITH_ENDPOINT=${url}/api/v1
export LANGSMITH_API_KEY=$TREADLE_API_KEY`}
          />
        </li>
      </ol>
    </Card>
  );
}
