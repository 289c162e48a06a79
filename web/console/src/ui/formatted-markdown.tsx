import type { ComponentProps } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { mediaAt } from "./media.ts";
import { MediaView } from "./media-view.tsx";

const plugins = [remarkGfm];
const components = { a: Link, img: Picture, pre: Code, table: Table };

/** HTML in the text stays text: what a model writes is not ours to trust. */
export default function FormattedMarkdown({ text }: { text: string }) {
  return (
    <div className="message-prose">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}

function Link({ href, children }: ComponentProps<"a">) {
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

/** Never loaded automatically from another host; the page's policy would refuse it too. */
function Picture({ src, alt }: ComponentProps<"img">) {
  const media = mediaAt(src, "image", alt);
  return media ? <MediaView media={media} /> : alt;
}

function Code({ children }: ComponentProps<"pre">) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre tabIndex={0}>{children}</pre>
  );
}

function Table({ children }: ComponentProps<"table">) {
  return (
    <div className="message-table">
      <table>{children}</table>
    </div>
  );
}
