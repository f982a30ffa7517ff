// Fences: as the server's commands have them, as shapes on a map, and drawn by hand.
import { h } from "../dom.js";
import { distance, place } from "../format.js";
import { plural, t } from "../language.js";
import { L } from "./base.js";

/** The author of commands by which the server tells a vehicle of the fences of the fleet. */
export const OF_FLEET = "/fences";

/** What people have told a vehicle of fences, as far as its commands tell: those done or on their way. */
export function fencesOf(commands) {
    const fences = new Map();
    for (const { command, arguments: values, state, result, author } of [...commands].reverse()) {
        if (author === OF_FLEET || state === "withdrawn" || state === "expired" || (state === "finished" && !result?.ok)) continue;
        const isThere = state === "finished";
        if (command === "add_geofences") {
            for (const fence of values?.geofences ?? []) {
                if (typeof fence?.id === "string") fences.set(fence.id, { fence, isThere });
            }
        }
        if (command === "remove_geofences" && isThere) for (const id of values?.ids ?? []) fences.delete(id);
        if (command === "remove_all_geofences" && isThere) fences.clear();
    }
    return [...fences.values()];
}

/** A layer for a fence; undefined for one that has no shape. */
export function shapeOf(fence, className = "fence") {
    const number = (value) => typeof value === "number" && Number.isFinite(value);
    if (Array.isArray(fence.polygon)) {
        const corners = fence.polygon.filter((corner) => Array.isArray(corner) && corner.every(number)).map(([lng, lat]) => [lat, lng]);
        return corners.length > 2 ? L.polygon(corners, { className, color: undefined }) : undefined;
    }
    if (![fence.latitude, fence.longitude, fence.radius_meters].every(number)) return undefined;
    return L.circle([fence.latitude, fence.longitude], { radius: fence.radius_meters, className });
}

/** What of the map it takes. */
export const boundsOf = (fence) => (fence.polygon ? L.latLngBounds(fence.polygon.map(([lng, lat]) => [lat, lng]))
    : L.latLng(fence.latitude, fence.longitude).toBounds(2 * fence.radius_meters));

/** Fences on a map that are drawn at once. */
const MOST = 300;

/** The fences in sight. One that stays as it was keeps its shape, and with it the name that somebody is reading there. */
export class FenceShapes {
    constructor(map, onclick) {
        Object.assign(this, { map, onclick, drawn: new Map() });
        this.layer = L.layerGroup().addTo(map);
    }

    /** @param views of each fence: itself, the class of its shape, and the words where somebody points at it */
    show(views) {
        const sight = this.map.getBounds(), before = this.drawn;
        this.drawn = new Map();
        for (const view of views.filter(({ fence }) => sight.intersects(boundsOf(fence))).slice(0, MOST)) {
            const key = JSON.stringify(view), shape = before.get(key) ?? this.shape(view);
            if (shape) this.drawn.set(key, shape);
        }
        for (const [key, shape] of before) if (!this.drawn.has(key)) this.layer.removeLayer(shape);
        for (const shape of this.drawn.values()) this.layer.addLayer(shape);
    }

    shape({ fence, className, words }) {
        // As an element: a name is text, whatever is in it.
        return shapeOf(fence, className)?.bindTooltip(h("span", {}, words)).on("click", () => this.onclick?.(fence));
    }
}

export const describe = (fence) => (Array.isArray(fence.polygon)
    ? plural(fence.polygon.length, "A polygon with {count} corner.", "A polygon with {count} corners.")
    : t("A circle of {radius} around {place}.", { radius: distance(Number(fence.radius_meters)), place: place(Number(fence.latitude), Number(fence.longitude)) }));

/** Draws a circle (a press at its centre, another at its edge) or a polygon (a press for each corner). */
export class Pen {
    constructor(map, changed) {
        this.map = map;
        this.changed = changed;
        this.layer = L.layerGroup().addTo(map);
        this.kind = null;
        this.points = [];
        this.listeners = { click: (event) => this.press(event.latlng), mousemove: (event) => this.follow(event.latlng) };
        map.on(this.listeners);
    }

    begin(kind) {
        this.kind = kind;
        this.points = [];
        this.isDone = false;
        this.map.getContainer().classList.toggle("drawing", Boolean(kind));
        this.show();
    }

    press(place) {
        if (!this.kind || this.isDone) return;
        this.points.push(place.wrap());
        if (this.kind === "circle" && this.points.length === 2) this.finish();
        this.show();
        this.changed(this.fence());
    }

    /** Takes the last corner back. */
    back() {
        this.isDone = false;
        this.points.pop();
        this.show();
        this.changed(this.fence());
    }

    finish() {
        this.isDone = true;
        this.map.getContainer().classList.remove("drawing");
    }

    /** Takes a fence as numbers. */
    set(fence) {
        this.kind = fence.polygon ? "polygon" : "circle";
        this.points = fence.polygon ? fence.polygon.map(([lng, lat]) => L.latLng(lat, lng)) : [L.latLng(fence.latitude, fence.longitude)];
        this.radius = fence.radius_meters;
        this.finish();
        this.show();
    }

    follow(place) {
        if (!this.kind || this.isDone || !this.points.length) return;
        this.show(place);
    }

    /** Without a name; undefined until it is one. */
    fence(ahead) {
        const round = (value) => Math.round(value * 1e6) / 1e6;
        if (this.kind === "circle") {
            const [centre, edge = ahead] = this.points;
            const radius = edge ? Math.round(this.map.distance(centre, edge)) : this.radius;
            if (!centre || !(radius > 0)) return undefined;
            return { latitude: round(centre.lat), longitude: round(centre.lng), radius_meters: Math.max(1, Math.round(radius * 10) / 10) };
        }
        const corners = ahead ? [...this.points, ahead] : this.points;
        if (corners.length < 3) return undefined;
        return { polygon: corners.map(({ lat, lng }) => [round(lng), round(lat)]) };
    }

    show(ahead) {
        this.layer.clearLayers();
        for (const point of this.points) this.layer.addLayer(L.circleMarker(point, { radius: 5, className: "corner" }));
        const fence = this.fence(ahead);
        const shape = fence && shapeOf(fence, "fence is-new");
        if (shape) this.layer.addLayer(shape);
        else if (this.kind === "polygon" && this.points.length) {
            this.layer.addLayer(L.polyline(ahead ? [...this.points, ahead] : this.points, { className: "fence is-new", fill: false }));
        }
    }

    close() {
        this.map.off(this.listeners);
        this.layer.remove();
        this.map.getContainer().classList.remove("drawing");
    }
}
