/** The documentation page's style sheet. */
export const docsStyle = `
:root {
  color-scheme: light dark;
  --back: light-dark(#fbfaf8, #16171a);
  --card: light-dark(#ffffff, #1e2024);
  --line: light-dark(#e4e1da, #33363c);
  --text: light-dark(#22242a, #e6e4df);
  --soft: light-dark(#6a6c73, #9b9da3);
  --accent: light-dark(#7a4b1e, #e0a86a);
  --get: light-dark(#1d6f42, #6cc495);
  --post: light-dark(#1f5fa8, #7fb3ea);
  --put: light-dark(#8a5a00, #e2b55b);
  --patch: light-dark(#6b3fa0, #bb98ea);
  --delete: light-dark(#ab2f2f, #ef8d8d);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
header { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center;
  padding: 10px 20px; background: var(--card); border-bottom: 1px solid var(--line); }
header h1 { font-size: 17px; margin: 0 auto 0 0; }
header small { color: var(--soft); font-weight: normal; }
input, select, textarea, button { font: inherit; color: inherit; background: var(--back);
  border: 1px solid var(--line); border-radius: 6px; padding: 5px 9px; }
input:focus-visible, select:focus-visible, textarea:focus-visible, button:focus-visible, summary:focus-visible, a:focus-visible {
  outline: 2px solid var(--accent); outline-offset: 1px; }
code, pre, textarea, .path, .type { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 13px; }
button { cursor: pointer; }
button.main { background: var(--accent); color: var(--back); border-color: var(--accent); }
.layout { display: grid; grid-template-columns: 220px minmax(0, 1fr); gap: 28px; max-width: 1180px; margin: 0 auto; padding: 20px; }
nav { position: sticky; top: 76px; align-self: start; max-height: calc(100vh - 96px); overflow: auto; }
nav a { display: block; padding: 3px 8px; color: var(--soft); text-decoration: none; border-radius: 5px; }
nav a:hover { color: var(--text); background: var(--card); }
a { color: var(--accent); }
section { margin-bottom: 26px; }
h2 { font-size: 15px; margin: 0 0 8px; scroll-margin-top: 80px; }
h3 { font-size: 13px; margin: 16px 0 6px; color: var(--soft); font-weight: 600; }
details.operation { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 6px; scroll-margin-top: 80px; }
details.operation > summary { display: flex; gap: 10px; align-items: baseline; padding: 8px 12px; cursor: pointer; list-style: none; }
details.operation > summary::-webkit-details-marker { display: none; }
details.operation > .body { padding: 0 14px 14px; border-top: 1px solid var(--line); }
.method { flex: none; width: 58px; font-size: 12px; font-weight: 700; text-transform: uppercase; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); }
.patch { color: var(--patch); } .delete { color: var(--delete); }
.path { overflow-wrap: anywhere; }
.summary { margin-left: auto; color: var(--soft); font-size: 13px; text-align: right; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
td, th { text-align: left; padding: 4px 10px 4px 0; vertical-align: top; border-bottom: 1px solid var(--line); font-weight: normal; }
.type { color: var(--accent); }
.soft { color: var(--soft); }
.required { color: var(--delete); }
ul.fields { list-style: none; margin: 0; padding-left: 14px; border-left: 1px solid var(--line); }
ul.fields li { padding: 2px 0; }
pre { margin: 0; padding: 10px 12px; overflow: auto; max-height: 420px; background: var(--back); border: 1px solid var(--line); border-radius: 6px; }
textarea { width: 100%; min-height: 120px; resize: vertical; }
.row { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 6px 0; }
.row label { min-width: 130px; }
.code { position: relative; }
.copy { position: absolute; top: 6px; right: 6px; padding: 1px 8px; font-size: 12px; background: var(--card); }
.note { padding: 30px; text-align: center; color: var(--soft); }
@media (max-width: 760px) {
  header { position: static; padding: 10px 14px; }
  header h1, header select { flex-basis: 100%; }
  header input { flex: 1 1 140px; min-width: 0; }
  .layout { grid-template-columns: minmax(0, 1fr); gap: 14px; padding: 14px; }
  nav { top: 0; z-index: 1; display: flex; max-height: none; padding: 6px 0; background: var(--back); }
  nav a { flex: none; }
  h2, details.operation { scroll-margin-top: 52px; }
  details.operation > summary { flex-wrap: wrap; gap: 2px 8px; }
  .path { flex: 1; }
  .summary { flex-basis: 100%; margin: 0; text-align: left; }
}
`;
