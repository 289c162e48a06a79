import { lazy, memo, Suspense } from "react";

const load = () => import("./formatted-markdown.tsx");
const Formatted = lazy(load);

/** The page is usable before it can draw Markdown; by the time there is an answer, it can. */
export function preloadMarkdown(): void {
  // When it cannot be loaded, drawing tries again and the text stays plain until then.
  load().catch(() => undefined);
}

/** HTML in the text stays text: what a model writes is not ours to trust. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className="prose plain">{text}</div>}>
      <Formatted text={text} />
    </Suspense>
  );
});
