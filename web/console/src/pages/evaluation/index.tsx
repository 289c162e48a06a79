import { Route, Switch } from "wouter";
import { ComparePage } from "./compare-page.tsx";
import { DatasetPage } from "./dataset-page.tsx";
import { DatasetsPage } from "./datasets-page.tsx";
import { QueuePage } from "./queue-page.tsx";
import { QueuesPage } from "./queues-page.tsx";
import "../traces/traces.css";
import "../traces/run.css";
import "./evaluation.css";

/** The addresses of the tracing SDK lead to the same pages: `/o/<workspace>/datasets/…`. */
export default function EvaluationPages() {
  return (
    <Switch>
      <Route path="/datasets" component={DatasetsPage} />
      <Route path="/datasets/:id">{({ id }) => <DatasetPage key={id} id={id} />}</Route>
      <Route path="/o/:tenant/datasets/:id">{({ id }) => <DatasetPage key={id} id={id} />}</Route>
      <Route path="/datasets/:id/compare">{({ id }) => <ComparePage key={id} id={id} />}</Route>
      <Route path="/o/:tenant/datasets/:id/compare">{({ id }) => <ComparePage key={id} id={id} />}</Route>
      <Route path="/queues" component={QueuesPage} />
      <Route path="/queues/:id">{({ id }) => <QueuePage key={id} id={id} />}</Route>
    </Switch>
  );
}
