import { ButtonLink, EmptyState, Page } from "../ui/index.ts";

export function NoSuchPage() {
  return (
    <Page title="Not found">
      <h1 className="spoken">Not found</h1>
      <EmptyState title="There is no such page" action={<ButtonLink href="/">Go to the overview</ButtonLink>}>
        The address may be wrong, or the page was removed.
      </EmptyState>
    </Page>
  );
}
