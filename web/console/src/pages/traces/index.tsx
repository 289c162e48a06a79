import { Route, Switch } from "wouter";
import { ProjectPage } from "./project-page.tsx";
import { ProjectsPage } from "./projects-page.tsx";
import { RunPage } from "./run-page.tsx";
import "./traces.css";
import "./runs.css";
import "./run.css";

export default function TracesPages() {
  return (
    <Switch>
      <Route path="/traces" component={ProjectsPage} />
      <Route path="/traces/:project">{({ project }) => <ProjectPage key={project} id={project} />}</Route>
      <Route path="/traces/:project/r/:run">{({ run }) => <RunPage id={run} />}</Route>
      <Route path="/o/:tenant/projects/p/:project/r/:run">{({ run }) => <RunPage id={run} />}</Route>
    </Switch>
  );
}
