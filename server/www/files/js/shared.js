// What a link shows to who has no account: where one vehicle is, at the moment. The secret stands behind the #, which no request has.
import { Problem, read } from "./api.js";
import { h, setText } from "./dom.js";
import { ago, heading, moment, place, speed } from "./format.js";
import { languageChoice, t } from "./language.js";
import { L, makeMap } from "./map/base.js";
import { number, placeOf, text } from "./status.js";

/** Milliseconds between two looks. */
const ROUND = 5000;
document.title = `${t("Where a vehicle is")} – beekon`;
const main = document.getElementById("main");
const name = h("h1", {}, t("Where a vehicle is")), words = h("p", { class: "readout", "aria-live": "polite" }), until = h("p", { class: "soft" });
const trouble = h("p", { class: "notice bad", role: "alert", hidden: true }), element = h("div", { class: "map" });
main.append(h("div", { class: "shared" }, h("div", { class: "head" }, h("div", { class: "row spread" }, name, languageChoice()), words, until, trouble), element));
const map = makeMap(element, t("Map with the vehicle"));
const dot = L.circleMarker([0, 0], { radius: 9, className: "cursor-dot", interactive: false });
let timer = 0, isPlaced = false;

function show(shared) {
    const title = text(shared.name) ?? t("A vehicle"), latest = placeOf(shared.latest);
    setText(name, title);
    document.title = `${title} – beekon`;
    setText(until, t("This link ends {time}.", { time: moment(Date.parse(shared.expires)) }));
    if (!latest) {
        setText(words, t("Nothing has been heard of it since the link was made."));
        return;
    }
    const course = number(latest.bearing, 0, 360);
    setText(words, [
        ago((Date.now() - latest.time) / 1000), place(latest.latitude, latest.longitude),
        latest.speed === undefined ? "" : speed(latest.speed), latest.speed > 1 && course !== undefined ? heading(course) : "",
    ].filter(Boolean).join(", "));
    dot.setLatLng([latest.latitude, latest.longitude]).addTo(map);
    if (!isPlaced) map.setView([latest.latitude, latest.longitude], 14, { animate: false });
    else if (!map.getBounds().pad(-0.1).contains(dot.getLatLng())) map.panTo(dot.getLatLng(), { animate: false });
    isPlaced = true;
}

function fail(sentence) {
    trouble.textContent = sentence;
    trouble.hidden = false;
}

async function look() {
    clearTimeout(timer);
    const secret = location.hash.slice(1);
    // One of before has nothing to say any more.
    const isCurrent = () => secret === location.hash.slice(1);
    try {
        const shared = await read("/v1/shared", { headers: { Authorization: `Bearer ${secret}` } });
        if (!isCurrent()) return;
        trouble.hidden = true;
        show(shared);
    } catch (problem) {
        if (!isCurrent()) return;
        if (problem instanceof Problem && (problem.status === 401 || problem.status === 403)) {
            dot.remove();
            setText(words, "");
            setText(until, "");
            fail(t("This link shows nothing, or nothing any more."));
            return;
        }
        fail(problem.message);
    }
    timer = setTimeout(look, ROUND);
}

addEventListener("hashchange", () => {
    isPlaced = false;
    dot.remove();
    look();
});
// Nobody looks at a hidden page.
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : look()));
look();
