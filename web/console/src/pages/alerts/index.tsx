import { Route, Switch } from "wouter";
import { NoSuchPage } from "../../shell/no-such-page.tsx";
import { DetailPage } from "./detail-page.tsx";
import { ListPage } from "./list-page.tsx";
import { NewPage } from "./new-page.tsx";

export default function AlertsPages() {
  return (
    <Switch>
      <Route path="/alerts" component={ListPage} />
      <Route path="/alerts/new" component={NewPage} />
      <Route path="/alerts/:id">{({ id }) => <DetailPage key={id} id={id} />}</Route>
      <Route component={NoSuchPage} />
    </Switch>
  );
}
