// All vehicles on two canvases: trails, which grow by a piece for each move, and marks above them.
import * as L from "../../leaflet/leaflet.esm.min.js";
import { color } from "../theme.js";
import * as fleet from "../fleet.js";
import { order } from "../health.js";
import { CanvasLayer } from "./canvas-layer.js";

/** Names are written when so few are in sight that they can be read. Where there are more, those that lie on each other are shown
    as their number: so many at least, in a square of so many pixels; from this zoom on they can be told apart, or never. */
const NAMED = 60, CROWD = 3, SQUARE = 44;
export const APART = 17;
/** Milliseconds after which trails are drawn anew, so that their ends go. */
const TRAIL_AGE = 30_000;
const SIZE = 30;
const colors = { bad: "bad", warn: "warn", moving: "ok", parked: "idle", off: "off" };

export const Trails = CanvasLayer.extend({
    options: { name: "trails" },
    draw(view) {
        this._drawn = performance.now();
        const path = new Path2D();
        for (const vehicle of fleet.vehicles.values()) {
            fleet.safely(vehicle, ({ trail }) => {
                for (let index = 1; index < trail.length; index++) this._piece(path, view, trail[index - 1], trail[index]);
            });
        }
        this._stroke(view.context, path);
    },

    /** Draws what has come since. */
    grow(news) {
        if (!this.view) return;
        if (performance.now() - this._drawn > TRAIL_AGE) {
            this.redraw();
            return;
        }
        const path = new Path2D();
        for (const vehicle of news) {
            fleet.safely(vehicle, ({ trail }) => {
                if (trail.length > 1) this._piece(path, this.view, trail.at(-2), trail.at(-1));
            });
        }
        this._stroke(this.view.context, path);
    },

    _piece(path, { scale, left, top, width, height, first, last }, from, to) {
        if (Math.abs(from.x - to.x) > 0.5) return;
        for (let world = first; world <= last; world++) {
            const x = (to.x + world) * scale - left, y = to.y * scale - top;
            if (x < -50 || y < -50 || x > width + 50 || y > height + 50) continue;
            path.moveTo((from.x + world) * scale - left, from.y * scale - top);
            path.lineTo(x, y);
        }
    },

    _stroke(context, path) {
        context.strokeStyle = color("trail");
        context.lineWidth = 2.5;
        context.lineCap = "round";
        context.stroke(path);
    },
});

export const Marks = CanvasLayer.extend({
    options: { name: "marks" },
    /** By id; drawn with a ring. */
    selected: null,
    _crowds: [],

    draw(view) {
        this._sheet = this._sheet?.ground === color("halo") ? this._sheet : makeSheet();
        const { context, scale, left, top, width, height } = view;
        this._places = [];
        for (const vehicle of fleet.placed()) {
            const { latest } = vehicle;
            for (let world = view.first; world <= view.last; world++) {
                const x = (latest.x + world) * scale - left, y = latest.y * scale - top;
                if (x < -SIZE || y < -SIZE || x > width + SIZE || y > height + SIZE) continue;
                this._places.push({ vehicle, x, y, level: fleet.health(vehicle).level });
            }
        }
        const [single, crowds] = this._places.length > NAMED && view.zoom < APART ? this._gather(view) : [this._places, []];
        this._crowds = crowds;
        // The urgent ones last, so that nothing covers them.
        const byUrgency = (a, b) => order.indexOf(b.level) - order.indexOf(a.level);
        for (const place of [...single].sort(byUrgency)) this._mark(context, place);
        for (const crowd of crowds.sort(byUrgency)) this._crowd(context, crowd);
        const ring = this._places.find(({ vehicle }) => vehicle.id === this.selected);
        if (ring) this._ring(context, ring);
        if (this._places.length <= NAMED) this._names(context);
    },

    /** Those of a square of the world, whatever is in sight of it; the selected vehicle stays by itself. */
    _gather({ left, top }) {
        const squares = new Map(), single = [], crowds = [];
        for (const place of this._places) {
            if (place.vehicle.id === this.selected) {
                single.push(place);
                continue;
            }
            const key = `${Math.floor((place.x + left) / SQUARE)} ${Math.floor((place.y + top) / SQUARE)}`;
            if (squares.has(key)) squares.get(key).push(place);
            else squares.set(key, [place]);
        }
        for (const places of squares.values()) {
            if (places.length < CROWD) {
                single.push(...places);
                continue;
            }
            const middle = (key) => places.reduce((sum, place) => sum + place[key], 0) / places.length;
            const level = order[Math.min(...places.map((place) => order.indexOf(place.level)))];
            crowds.push({ x: middle("x"), y: middle("y"), level, places });
        }
        return [single, crowds];
    },

    _crowd(context, { x, y, level, places }) {
        context.beginPath();
        context.arc(x, y, radiusOf(places), 0, 7);
        context.lineWidth = 3;
        context.strokeStyle = color("halo");
        context.fillStyle = color(colors[level]);
        context.stroke();
        context.fill();
        context.fillStyle = color("halo");
        context.font = "700 12px system-ui, sans-serif";
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(places.length, x, y);
        context.textAlign = "start";
    },

    _mark(context, { vehicle, x, y, level }) {
        const { bearing } = vehicle.latest;
        const turn = level === "moving" && bearing !== undefined ? 1 + Math.round(bearing / 11.25) % 32 : 0;
        const density = this._sheet.density;
        context.drawImage(this._sheet.canvas, turn * SIZE * density, order.indexOf(level) * SIZE * density, SIZE * density,
            SIZE * density, x - SIZE / 2, y - SIZE / 2, SIZE, SIZE);
    },

    _ring(context, { x, y }) {
        context.beginPath();
        context.arc(x, y, 14, 0, 7);
        context.lineWidth = 3;
        context.strokeStyle = color("text");
        context.stroke();
    },

    _names(context) {
        context.font = "600 12px system-ui, sans-serif";
        context.textBaseline = "middle";
        context.lineWidth = 3;
        context.lineJoin = "round";
        context.strokeStyle = color("halo");
        context.fillStyle = color("text");
        const taken = [];
        const places = [...this._places].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
        for (const { vehicle, x, y } of places) {
            const text = vehicle.name.length > 24 ? `${vehicle.name.slice(0, 23)}…` : vehicle.name;
            const box = [x + 13, y - 8, x + 17 + context.measureText(text).width, y + 8];
            // Names do not cover each other; the urgent ones are first.
            if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
            taken.push(box);
            context.strokeText(text, x + 15, y);
            context.fillText(text, x + 15, y);
        }
    },

    /** A point of the map's element, on the canvas. */
    _onCanvas(point) {
        const corner = this._map.containerPointToLayerPoint([0, 0]).add(this._map.getPixelOrigin());
        return [corner.x + point.x - this.view.left, corner.y + point.y - this.view.top];
    },

    /** Where those are that are shown as their number at a point of the map's element; undefined when none are there. */
    crowdAt(point) {
        const [x, y] = this._onCanvas(point);
        const crowd = this._crowds.find((one) => (one.x - x) ** 2 + (one.y - y) ** 2 < radiusOf(one.places) ** 2);
        return crowd && L.latLngBounds(crowd.places.map(({ vehicle }) => [vehicle.latest.latitude, vehicle.latest.longitude]));
    },

    /** The vehicle nearest to a point of the map's element; undefined when none is near. */
    near(point) {
        const [x, y] = this._onCanvas(point);
        let best, least = 18 * 18;
        for (const place of this._places) {
            const square = (place.x - x) ** 2 + (place.y - y) ** 2;
            if (square < least) [best, least] = [place.vehicle, square];
        }
        return best;
    },
});

const radiusOf = (places) => 10 + 2 * String(places.length).length;

/** Each mark once, in 33 directions (the first has none), to be copied from. */
function makeSheet() {
    const density = devicePixelRatio || 1, canvas = document.createElement("canvas");
    canvas.width = 33 * SIZE * density;
    canvas.height = order.length * SIZE * density;
    const context = canvas.getContext("2d");
    context.scale(density, density);
    const ground = color("halo");
    order.forEach((level, row) => {
        for (let turn = 0; turn < 33; turn++) {
            if (turn > 0 && level !== "moving") break;
            context.save();
            context.translate((turn + 0.5) * SIZE, (row + 0.5) * SIZE);
            context.rotate((turn - 1) * Math.PI / 16);
            if (turn === 0) context.rotate(Math.PI / 16);
            context.beginPath();
            shape(context, level, turn > 0);
            context.closePath();
            context.lineWidth = 3;
            context.lineJoin = "round";
            context.strokeStyle = ground;
            context.stroke();
            context.fillStyle = color(colors[level]);
            context.fill();
            if (level === "bad") {
                context.fillStyle = ground;
                context.fillRect(-1.2, -4, 2.4, 7);
                context.fillRect(-1.2, 4.5, 2.4, 2.4);
            }
            context.restore();
        }
    });
    return { canvas, density, ground };
}

function shape(context, level, hasBearing) {
    const points = level === "bad" ? [[0, -11], [11, 9], [-11, 9]]
        : level === "warn" ? [[0, -9], [9, 0], [0, 9], [-9, 0]]
            : level === "moving" && hasBearing ? [[0, -11], [7.5, 9], [0, 5], [-7.5, 9]] : null;
    if (!points) {
        context.arc(0, 0, level === "off" ? 4.5 : 6.5, 0, 7);
        return;
    }
    points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
}
