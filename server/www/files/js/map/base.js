// A map: tiles where the operator has named some, else our own ground.
import * as L from "../../leaflet/leaflet.esm.min.js";
import { h } from "../dom.js";
import { t } from "../language.js";
import { isStill } from "../theme.js";
import { units } from "../units.js";
import { Ground } from "./ground.js";

/** Tiles in a row that could not be loaded, before somebody is told. */
const FAILURES = 3;

/** Empty where the page does not have it: a shared link shows no map of ours, whose pictures go to users alone. */
const meta = (name) => document.querySelector(`meta[name="beekon-${name}"]`)?.content ?? "";

/** Whom the tiles come from; an address at its end becomes a link. Leaflet takes it as HTML: it gets escaped text. */
export function attribution(text) {
    const escape = (part) => part.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
    const [, words, url] = /^(.*?)\s*(https:\/\/[^\s"<>]+)?$/s.exec(text);
    return url ? `<a href="${escape(url)}" rel="noreferrer">${escape(words || url)}</a>` : escape(words);
}

/** Leaflet's, in the units of whoever looks. */
const Scale = L.Control.Scale.extend({
    _updateMetric(meters) {
        const { long, longSign, short, shortSign } = units();
        const [unit, sign] = meters < long ? [short, shortSign] : [long, longSign], size = this._getRoundNum(meters / unit);
        this._updateScale(this._mScale, `${size} ${sign}`, size * unit / meters);
    },
});

export function makeMap(element, label) {
    const moves = !isStill();
    const map = L.map(element, {
        zoomControl: false, attributionControl: false, worldCopyJump: true, minZoom: 2, maxZoom: 19, zoomAnimation: moves,
        fadeAnimation: moves, markerZoomAnimation: moves, inertia: moves, zoomSnap: 0.5, wheelPxPerZoomLevel: 90,
    });
    element.setAttribute("role", "region");
    element.setAttribute("aria-label", label);
    L.control.zoom({ zoomInTitle: t("Zoom in"), zoomOutTitle: t("Zoom out") }).addTo(map);
    new Scale({ imperial: false, position: "bottomleft" }).addTo(map);
    const credit = L.control.attribution({ prefix: false, position: "bottomright" }).addTo(map);
    // Beneath the tiles, so that it shows where they are missing; and not among them, which the dark theme turns into their negative.
    map.createPane("ground").style.zIndex = 100;
    new Ground().addTo(map);
    credit.addAttribution("Natural Earth");
    addTiles(map, element);
    const watcher = new ResizeObserver(() => map.invalidateSize({ animate: false }));
    watcher.observe(element);
    map.on("unload", () => watcher.disconnect());
    map.setView([30, 10], 2);
    return map;
}

/** Tiles of others, and above them those of the operator's own file. */
function addTiles(map, element) {
    const tiles = meta("tiles"), own = meta("map");
    if (tiles) {
        const layer = L.tileLayer(tiles, { maxZoom: 19, attribution: attribution(meta("attribution")) }).addTo(map);
        const trouble = h("p", { class: "map-trouble", role: "status", hidden: true }, t("The map's tiles cannot be loaded. Below them is the built-in map."));
        let failed = 0;
        layer.on("tileerror", () => { trouble.hidden = ++failed < FAILURES; });
        layer.on("tileload", () => {
            failed = 0;
            trouble.hidden = true;
        });
        element.append(trouble);
    }
    if (own) {
        const { url, zooms: [least, most], bounds: [west, south, east, north] } = JSON.parse(own);
        L.tileLayer(url, {
            // Enlarged beyond the finest; before the coarsest there would be too many to be drawn small.
            minZoom: least, maxZoom: 19, maxNativeZoom: most, bounds: [[south, west], [north, east]],
            attribution: attribution(meta("map-attribution") || (tiles ? "" : meta("attribution"))),
        }).addTo(map);
    }
}

/** The view of a map as a value of the address, and back. */
export const viewText = (map) => {
    const { lat, lng } = map.getCenter();
    return `${lat.toFixed(5)},${lng.toFixed(5)},${map.getZoom()}`;
};

export function setView(map, text) {
    const [latitude, longitude, zoom] = (text ?? "").split(",").map(Number);
    if (![latitude, longitude, zoom].every(Number.isFinite) || Math.abs(latitude) > 90) return false;
    map.setView([latitude, longitude], Math.max(2, Math.min(19, zoom)), { animate: false });
    return true;
}

/** What Leaflet has put off (the end of a zoom, a turn of the wheel, a throw) comes when the map has gone. It then finds a
    pane that nobody sees, and nobody listens: a screen that is left must not write its view into the address of the next. */
export function removeMap(map) {
    map.remove();
    map.off();
    map._mapPane = L.DomUtil.create("div");
    L.DomUtil.setPosition(map._mapPane, L.point(0, 0));
}

export { L };
