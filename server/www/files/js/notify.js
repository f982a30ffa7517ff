// Notifications of the browser, while the page is open: where it allows them, and somebody has asked for them.
import { read, user } from "./api.js";
import { alertText } from "./events.js";

const KEY = "beekon-notify";
/** Milliseconds; a browser may look less often for a page that is not looked at. */
const PAUSE = 30_000;
/** Of what came at once, so many are shown. */
const MOST = 5;
let timer = 0, last = null, mine = 0;

/** Whether the browser has them here at all: by https, or on this machine. A worker shows them: Chrome on Android lets no page do it. */
export const isPossible = () => isSecureContext && typeof Notification === "function" && "serviceWorker" in navigator;
export const isDenied = () => isPossible() && Notification.permission === "denied";
export const isOn = () => isPossible() && Notification.permission === "granted" && stored() === "on";

/** Asks the person, where that has not been done. */
export async function turn(on) {
    try {
        if (on && isPossible() && await Notification.requestPermission() === "granted") await navigator.serviceWorker.register("/worker.js");
        localStorage.setItem(KEY, on ? "on" : "off");
    } catch {
        // Without storage, or without the worker, there are none.
    }
    watch();
}

/** Begins or ends, with the session. */
export function watch() {
    clearTimeout(timer);
    last = null;
    mine += 1;
    if (user() && isOn()) look(mine);
}

async function look(number) {
    try {
        const { alerts } = await read("/v1/alerts?limit=20");
        if (number !== mine) return;
        const place = alerts.findIndex(({ cursor }) => cursor === last);
        // What is there at first is on the screen, and no news.
        const news = last === null ? [] : alerts.slice(0, place < 0 ? alerts.length : place);
        for (const alert of news.slice(0, MOST).reverse()) await show(alert);
        if (number !== mine) return;
        last = alerts[0]?.cursor ?? "";
    } catch {
        // The next look finds it; what is shown again is the same, by its tag.
    }
    if (number === mine) timer = setTimeout(() => look(number), PAUSE);
}

async function show(alert) {
    const worker = await navigator.serviceWorker.register("/worker.js").then(() => navigator.serviceWorker.ready);
    await worker.showNotification(alert.name, { body: alertText(alert), tag: alert.id });
}

// One was clicked.
if (isPossible()) navigator.serviceWorker.addEventListener("message", () => { location.hash = "#/alerts"; });

function stored() {
    try {
        return localStorage.getItem(KEY);
    } catch {
        return null;
    }
}
