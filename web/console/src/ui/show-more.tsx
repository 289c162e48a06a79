import { Button } from "./button.tsx";

export type MorePages = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): unknown };

/** Below a list that comes in pages; nothing when all of it is there. */
export function ShowMore({ of, words = "Show more" }: { of: MorePages; words?: string }) {
  if (!of.hasNextPage) return null;
  return (
    <div className="row">
      <Button busy={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
        {words}
      </Button>
    </div>
  );
}
