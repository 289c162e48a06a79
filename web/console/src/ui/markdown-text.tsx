import { lazy, memo, Suspense } from "react";

const Formatted = lazy(() => import("./formatted-markdown.tsx"));

/** What people and models write. The words are there at once, their form when it is loaded. */
export const MarkdownText = memo(function MarkdownText({ text }: { text: string }) {
  return (
    <Suspense fallback={<p className="message-text">{text}</p>}>
      <Formatted text={text} />
    </Suspense>
  );
});
