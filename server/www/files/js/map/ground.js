// What is under everything: sea, land, coasts, borders and names (Natural Earth, public domain), and a graticule.
import { locale, t } from "../language.js";
import { color } from "../theme.js";
import { CanvasLayer, project } from "./canvas-layer.js";

/** Width in pixels from which a country's name is written, and the zoom from which towns are. */
const NAMED = 60, TOWNS = 5;

let loading = null;

/** Lines, each as numbers on a world of size 1 with its bounds, and names with their places. */
function ground() {
    loading ??= fetch(new URL("../../ground.json", import.meta.url)).then((answer) => answer.json()).then((read) => ({
        coasts: decode(read.coasts, read.transform), borders: decode(read.borders, read.transform), names: names(read),
    }));
    return loading;
}

function decode(arcs, { scale, translate }) {
    return arcs.map((arc) => {
        const xs = new Float32Array(arc.length), ys = new Float32Array(arc.length);
        let [east, north] = [0, 0], [west, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
        arc.forEach(([dx, dy], index) => {
            east += dx;
            north += dy;
            const [x, y] = project(north * scale[1] + translate[1], east * scale[0] + translate[0]);
            xs[index] = x;
            ys[index] = y;
            west = Math.min(west, x);
            right = Math.max(right, x);
            top = Math.min(top, y);
            bottom = Math.max(bottom, y);
        });
        return { xs, ys, west, right, top, bottom };
    });
}

/** Countries, the largest first, in the viewer's language, and then towns. */
function names({ countries, towns }) {
    const words = new Intl.DisplayNames(locale, { type: "region", fallback: "code" });
    const placed = (text, longitude, latitude, width) => {
        const [x, y] = project(latitude, longitude);
        return { text, x, y, width };
    };
    return [
        ...countries.map(([code, longitude, latitude, area]) =>
            placed(/^[A-Z]{2}$/.test(code) ? words.of(code) : code, longitude, latitude, Math.sqrt(area) / 360)),
        ...towns.map(([town, longitude, latitude]) => placed(town, longitude, latitude)),
    ];
}

export const Ground = CanvasLayer.extend({
    options: { padding: 0.5, pane: "ground", name: "ground" },

    onAdd(map) {
        CanvasLayer.prototype.onAdd.call(this, map);
        ground().then((ground) => {
            this._ground = ground;
            this.redraw();
        }, () => {
            // The graticule has to do.
        });
    },

    draw(view) {
        const { context, width, height } = view;
        context.fillStyle = color("sea");
        context.fillRect(0, 0, width, height);
        if (this._ground) {
            for (let world = view.first; world <= view.last; world++) this._drawLand(view, world);
        }
        this._drawGrid(view);
        if (this._ground) this._drawNames(view);
    },

    _drawLand(view, world) {
        const { context } = view, land = this._path(this._ground.coasts, view, world);
        context.fillStyle = color("land");
        context.strokeStyle = color("coast");
        context.lineWidth = 1;
        context.fill(land, "evenodd");
        context.stroke(land);
        context.setLineDash([4, 3]);
        context.stroke(this._path(this._ground.borders, view, world));
        context.setLineDash([]);
    },

    _path(lines, { width, height, scale, left, top }, world) {
        const path = new Path2D();
        for (const line of lines) {
            const from = (line.west + world) * scale - left, to = (line.right + world) * scale - left;
            if (to < 0 || from > width || line.bottom * scale - top < 0 || line.top * scale - top > height) continue;
            // Smaller than a dot: nobody sees it.
            if (to - from < 0.7 && (line.bottom - line.top) * scale < 0.7) continue;
            let [lastX, lastY] = [NaN, NaN];
            for (let index = 0; index < line.xs.length; index++) {
                const x = (line.xs[index] + world) * scale - left, y = line.ys[index] * scale - top;
                if (Math.abs(x - lastX) < 0.7 && Math.abs(y - lastY) < 0.7) continue;
                if (Number.isNaN(lastX)) path.moveTo(x, y);
                else path.lineTo(x, y);
                lastX = x;
                lastY = y;
            }
        }
        return path;
    },

    /** A name is left out where it would lie on one that is written already. */
    _drawNames({ context, width, height, scale, left, top, zoom, first, last }) {
        context.fillStyle = color("grid-text");
        context.strokeStyle = color("land");
        context.lineWidth = 3;
        context.lineJoin = "round";
        context.textAlign = "center";
        const taken = [];
        for (const { text, x, y, width: wide } of this._ground.names) {
            if (wide === undefined ? zoom < TOWNS : wide * scale < NAMED) continue;
            context.font = `${wide === undefined ? "" : "600 "}12px system-ui, sans-serif`;
            const half = context.measureText(text).width / 2 + 4;
            for (let world = first; world <= last; world++) {
                const [atX, atY] = [(x + world) * scale - left, y * scale - top];
                if (atX < -half || atY < -10 || atX > width + half || atY > height + 10) continue;
                const box = [atX - half, atY - 10, atX + half, atY + 6];
                if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
                taken.push(box);
                context.strokeText(text, atX, atY);
                context.fillText(text, atX, atY);
            }
        }
        context.textAlign = "start";
    },

    _drawGrid({ context, width, height, scale, left, top }) {
        const steps = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002];
        const step = steps.find((degrees) => degrees / 360 * scale < 190) ?? 0.0001;
        const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
        context.strokeStyle = color("grid");
        context.fillStyle = color("grid-text");
        context.font = "11px system-ui, sans-serif";
        context.lineWidth = 1;
        context.beginPath();
        const west = (left / scale - 0.5) * 360, east = ((left + width) / scale - 0.5) * 360;
        const places = [];
        for (let degrees = Math.ceil(west / step) * step; degrees <= east; degrees += step) {
            const x = Math.round((degrees / 360 + 0.5) * scale - left) + 0.5;
            context.moveTo(x, 0);
            context.lineTo(x, height);
            const turned = ((degrees + 180) % 360 + 360) % 360 - 180;
            places.push([`${Math.abs(turned).toFixed(digits)}°${turned < 0 ? t("W") : t("E")}`, x + 3, null]);
        }
        for (let degrees = -85 - (-85 % step); degrees <= 85; degrees += step) {
            const y = Math.round(project(degrees, 0)[1] * scale - top) + 0.5;
            if (y < 0 || y > height) continue;
            context.moveTo(0, y);
            context.lineTo(width, y);
            places.push([`${Math.abs(degrees).toFixed(digits)}°${degrees < 0 ? t("S") : t("N")}`, null, y - 3]);
        }
        context.stroke();
        // Written at the edges of what is in sight, which lies in the middle of the canvas.
        const inset = this.options.padding / (1 + 2 * this.options.padding);
        for (const [text, x, y] of places) {
            context.fillText(text, x ?? width * (1 - inset) - 60, y ?? height * (1 - inset) - 24);
        }
    },
});
