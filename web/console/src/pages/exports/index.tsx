import { Route, Switch } from "wouter";
import { DestinationsPage } from "./destinations-page.tsx";
import { DetailPage } from "./detail-page.tsx";
import { ListPage } from "./list-page.tsx";
import { NewDestinationPage } from "./new-destination-page.tsx";
import { NewPage } from "./new-page.tsx";
import "./exports.css";

export default function ExportsPages() {
  return (
    <Switch>
      <Route path="/exports" component={ListPage} />
      <Route path="/exports/new" component={NewPage} />
      <Route path="/exports/destinations" component={DestinationsPage} />
      <Route path="/exports/destinations/new" component={NewDestinationPage} />
      <Route path="/exports/:id">{({ id }) => <DetailPage key={id} id={id} />}</Route>
    </Switch>
  );
}
