import { Route, Switch } from "wouter";
import { NoSuchPage } from "../../shell/no-such-page.tsx";
import { DetailPage } from "./detail-page.tsx";
import { ListPage } from "./list-page.tsx";
import { NewPage } from "./new-page.tsx";
import { RevisionPage } from "./revision-page.tsx";
import "./deployments.css";

export default function DeploymentsPages() {
  return (
    <Switch>
      <Route path="/deployments" component={ListPage} />
      <Route path="/deployments/new" component={NewPage} />
      <Route path="/deployments/:id">{({ id }) => <DetailPage key={id} id={id} />}</Route>
      <Route path="/deployments/:id/revisions/:revision">
        {({ id, revision }) => <RevisionPage key={revision} deploymentId={id} revisionId={revision} />}
      </Route>
      <Route component={NoSuchPage} />
    </Switch>
  );
}
