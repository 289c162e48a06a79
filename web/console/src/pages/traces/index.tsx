import { lazy, Suspense } from "react";
import { Route, Switch } from "wouter";
import { Skeleton } from "../../ui/index.ts";
import { ConversationPage } from "./conversation-page.tsx";
import { ProjectPage } from "./project-page.tsx";
import { ProjectsPage } from "./projects-page.tsx";
import { RunPage } from "./run-page.tsx";
import "./traces.css";
import "./runs.css";
import "./run.css";

const PlaygroundPage = lazy(() => import("./playground-page.tsx"));

export default function TracesPages() {
  return (
    <Switch>
      <Route path="/traces" component={ProjectsPage} />
      <Route path="/traces/:project">{({ project }) => <ProjectPage key={project} id={project} />}</Route>
      <Route path="/traces/:project/t/:thread">
        {({ project, thread }) => (
          <ConversationPage key={thread} projectId={project} threadId={decodeURIComponent(thread)} />
        )}
      </Route>
      <Route path="/traces/:project/r/:run">{({ run }) => <RunPage id={run} />}</Route>
      <Route path="/traces/:project/r/:run/playground">
        {({ run }) => (
          <Suspense fallback={<Skeleton lines={8} />}>
            <PlaygroundPage key={run} id={run} />
          </Suspense>
        )}
      </Route>
      <Route path="/o/:tenant/projects/p/:project">
        {({ project }) => <ProjectPage key={project} id={project} />}
      </Route>
      <Route path="/o/:tenant/projects/p/:project/r/:run">{({ run }) => <RunPage id={run} />}</Route>
    </Switch>
  );
}
