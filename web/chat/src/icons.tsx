const paths = {
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  trash: "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12M10.5 11v5M13.5 11v5",
  edit: "M5 19h3.5L19 8.5 15.5 5 5 15.5zM13.5 7l3.5 3.5",
  copy: "M9 9h10v10H9zM5 15V5h10",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  menu: "M4 7h16M4 12h16M4 17h10",
  clock: "M12 7.5V12l3 2M12 4a8 8 0 1 1-8 8M4 4.5V9h4.5",
  sun: "M12 4V2.5M12 21.5V20M4 12H2.5M21.5 12H20M6.3 6.3 5.2 5.2M18.8 18.8l-1.1-1.1M17.7 6.3l1.1-1.1M5.2 18.8l1.1-1.1M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
  moon: "M19 14.5A8 8 0 0 1 9.5 5 7.5 7.5 0 1 0 19 14.5z",
  contrast: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 4v16",
  chevron: "M9 6l6 6-6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  hand: "M8 12V6.5a1.5 1.5 0 0 1 3 0V11M11 11V5a1.5 1.5 0 0 1 3 0v6M14 11V6.5a1.5 1.5 0 0 1 3 0V14c0 4-2.2 6-5.5 6-2.6 0-4-1.2-5.2-3.5L4.6 13c.9-1 2.2-.9 3.4.7",
  branch: "M7 5v14M7 14c0-4 10-1 10-7M17 7a1.6 1.6 0 1 0 0-3.2A1.6 1.6 0 0 0 17 7z",
  link: "M10 14a4 4 0 0 0 5.700 0l3-3a4 4 0 0 0-5.700-5.700l-1.500 1.500M14 10a4 4 0 0 0-5.700 0l-3 3a4 4 0 0 0 5.700 5.700l1.500-1.500",
  file: "M7 4h7l4 4v12H7zM14 4v4h4M10 12h5M10 15.500h5",
  clip: "M18.500 11.500l-6.300 6.300a4 4 0 0 1-5.700-5.700L13 5.600a2.700 2.700 0 0 1 3.800 3.800l-6.500 6.500a1.300 1.300 0 0 1-1.900-1.900l5.800-5.800",
  again: "M19 12a7 7 0 1 1-2.200-5.100M19 4v4h-4",
  trace: "M5 6h6M9 12h6M13 18h6M5 6v0M9 12v0",
  graph:
    "M7 8.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM17 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7 19.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM9 7.300l6 3.700M9 16.700l6-3.700",
  back: "M15 6l-6 6 6 6",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15.500 15.500L20 20",
  share: "M12 15V4M8 7.500L12 4l4 3.500M6 11v8h12v-8",
  spark: "M12 4l1.8 6.2L20 12l-6.2 1.8L12 20l-1.8-6.2L4 12l6.2-1.8z",
  wrench: "M14.5 6.5a4 4 0 0 0-5.2 5.2L4.5 16.5l3 3 4.800-4.800a4 4 0 0 0 5.200-5.200L15 12l-3-3z",
} as const;

export type IconName = keyof typeof paths;

/** Decoration: what carries it has a name of its own. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}

export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path className="warp" d="M9 6v20M23 6v6M23 19v7M16 6v4M16 16v10" />
      <path className="weft" d="M5 13h8M19 13h8M12 19h15" />
    </svg>
  );
}
