// Before anything is drawn: the theme that was chosen here, so that a dark page does not flash white.
"use strict";
try {
    const theme = localStorage.getItem("beekon-theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
    // Without storage the system's theme has to do.
}
