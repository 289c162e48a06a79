import { lazy, Suspense } from "react";
import { Route, Switch } from "wouter";
import { NoSuchPage } from "../../shell/no-such-page.tsx";
import { Skeleton } from "../../ui/index.ts";
import { DetailPage } from "./detail-page.tsx";
import { ListPage } from "./list-page.tsx";
import { RevisionPage } from "./revision-page.tsx";
import "./deployments.css";

// With what it takes to pack a folder.
const NewPage = lazy(() => import("./new/new-page.tsx").then((module) => ({ default: module.NewPage })));
const UploadPage = lazy(() =>
  import("./new/upload-page.tsx").then((module) => ({ default: module.UploadPage })),
);

export default function DeploymentsPages() {
  return (
    <Switch>
      <Route path="/deployments" component={ListPage} />
      <Route path="/deployments/new">
        <Suspense fallback={<Skeleton lines={3} height="6rem" />}>
          <NewPage />
        </Suspense>
      </Route>
      <Route path="/deployments/:id/upload">
        {({ id }) => (
          <Suspense fallback={<Skeleton lines={3} height="6rem" />}>
            <UploadPage key={id} id={id} />
          </Suspense>
        )}
      </Route>
      <Route path="/deployments/:id">{({ id }) => <DetailPage key={id} id={id} />}</Route>
      <Route path="/deployments/:id/revisions/:revision">
        {({ id, revision }) => <RevisionPage key={revision} deploymentId={id} revisionId={revision} />}
      </Route>
      <Route component={NoSuchPage} />
    </Switch>
  );
}
