/** What pages are made of. Chart, LogView, JsonView and MessageView are imported by their own file: they weigh more. */
export * from "./badge.tsx";
export * from "./button.tsx";
export * from "./copy-button.tsx";
export * from "./dialog.tsx";
export * from "./field.tsx";
export * from "./format.ts";
export * from "./list-state.tsx";
export * from "./page.tsx";
export * from "./progress.tsx";
export * from "./search-input.tsx";
export * from "./show-more.tsx";
export * from "./states.tsx";
export * from "./table.tsx";
export * from "./tabs.tsx";
export * from "./time.tsx";
export * from "./toasts.tsx";
