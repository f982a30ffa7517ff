// Whether the server's database is whole, and where it belongs.
import { read, user } from "./api.js";
import { setText } from "./dom.js";

/** Milliseconds between two looks. */
const ROUND = 60_000;
const place = document.getElementById("database");
let timer = 0;

/** Looks now and then, as long as somebody is signed in. */
export async function watch() {
    clearTimeout(timer);
    if (!user()) {
        place.hidden = true;
        return;
    }
    timer = setTimeout(watch, ROUND);
    try {
        await read("/health/ready");
        place.hidden = true;
    } catch (problem) {
        // That the server cannot be reached is told elsewhere.
        if (problem.status !== 503) return;
        setText(place, problem.message);
        place.hidden = false;
    }
}
