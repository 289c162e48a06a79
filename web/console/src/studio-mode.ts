/** The same page serves the console of a platform and, at `/studio`, one agent server that stands alone. */
export const isStudio = location.pathname === "/studio" || location.pathname.startsWith("/studio/");

export const studioBase = "/studio";
