// Dark, light, or as the system has it.
import { h, icon } from "./dom.js";
import { t } from "./language.js";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

/** Called when colours have changed; what is drawn on a canvas has to be drawn anew. Returns what ends it. */
export function whenChanged(action) {
    listeners.add(action);
    return () => listeners.delete(action);
}

const told = () => listeners.forEach((action) => action());
system.addEventListener("change", told);

export const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function themeButton() {
    const button = h("button", { class: "plain", type: "button", onclick: () => choose(isDark() ? "light" : "dark") });
    const show = () => {
        button.replaceChildren(icon(isDark() ? "sun" : "moon"));
        button.setAttribute("aria-label", isDark() ? t("Light theme") : t("Dark theme"));
        button.title = isDark() ? t("Light theme") : t("Dark theme");
    };
    function choose(theme) {
        root.dataset.theme = theme;
        try {
            localStorage.setItem("beekon-theme", theme);
        } catch {
            // It lasts as long as the page, then.
        }
        told();
    }
    whenChanged(show);
    show();
    return button;
}
