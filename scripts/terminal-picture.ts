import { escapeHtml } from "../src/platform/http/escape-html.ts";

/** A line of a terminal and when it came. */
export type Shown = { atMs: number; text: string; style: "command" | "step" | "trouble" | "good" };

const colours: Record<Shown["style"], string> = {
  command: "#f3ead9",
  step: "#b9ad97",
  trouble: "#ff9d7a",
  good: "#8fd19e",
};
const lineHeight = 22;
const restMs = 4_000;
/** Longer pauses are cut: nobody watches a server start. */
const longestPauseMs = 1_500;

/** An SVG that shows the lines one after the other, and begins again. Nothing moves for who asked for no motion. */
export function drawTerminal(lines: readonly Shown[]): string {
  const times: number[] = [];
  let at = 400;
  lines.forEach(({ atMs }, index) => {
    const pause = index === 0 ? 0 : atMs - lines[index - 1]!.atMs;
    at += Math.max(250, Math.min(pause, longestPauseMs));
    times.push(at);
  });
  const totalMs = at + restMs;
  const frames = times.map((time, index) => {
    const shownAt = ((time / totalMs) * 100).toFixed(2);
    return `@keyframes l${index}{0%,${shownAt}%{opacity:0}${(Number(shownAt) + 0.01).toFixed(2)}%,100%{opacity:1}}
.l${index}{animation:l${index} ${totalMs}ms linear infinite}`;
  });
  const texts = lines.map(
    ({ text, style }, index) =>
      `<text class="l${index}" x="18" y="${52 + index * lineHeight}" fill="${colours[style]}" xml:space="preserve">${escapeHtml(text)}</text>`,
  );
  const height = 70 + lines.length * lineHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" role="img" aria-label="A run is killed in the middle and goes on from its last checkpoint.">
<style>text{font:14px ui-monospace,Menlo,Consolas,monospace}
${frames.join("\n")}
@media (prefers-reduced-motion:reduce){text[class]{animation:none}}</style>
<rect width="720" height="${height}" rx="10" fill="#1d1a15"/>
<circle cx="20" cy="18" r="5" fill="#e0694f"/><circle cx="38" cy="18" r="5" fill="#e0b04f"/><circle cx="56" cy="18" r="5" fill="#6dbb7a"/>
${texts.join("\n")}
</svg>
`;
}
