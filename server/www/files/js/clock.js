// Whether the server's clock is right: what is stored grows old by it.
import { isAdmin, read, send, user } from "./api.js";
import { h } from "./dom.js";
import { locale, t } from "./language.js";

/** Milliseconds between two looks. */
const ROUND = 300_000;
const place = document.getElementById("clock");
const text = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
let timer = 0;

function show(clock) {
    place.hidden = !clock.is_ahead;
    if (!clock.is_ahead) {
        place.replaceChildren();
        return;
    }
    place.replaceChildren(
        t("The server's clock shows {time}; confirmed is {confirmed}. Until the new time is confirmed, nothing is deleted for its age by it.",
            { time: text.format(new Date(clock.time)), confirmed: text.format(new Date(clock.confirmed)) }), " ",
        isAdmin() ? h("button", { type: "button", onclick: confirm }, t("The clock is right")) : "");
}

async function confirm() {
    try {
        show(await (await send("POST", "/v1/clock", {})).json());
    } catch (problem) {
        place.append(` ${problem.message}`);
    }
}

/** Looks now and then, as long as somebody is signed in. */
export async function watch() {
    clearTimeout(timer);
    if (!user()) {
        place.hidden = true;
        return;
    }
    timer = setTimeout(watch, ROUND);
    try {
        show(await read("/v1/clock"));
    } catch {
        // The next look tells.
    }
}
