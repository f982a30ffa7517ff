// A day's track. 86,400 points are projected once; of those that fall on one dot, one is drawn.
import { color } from "../theme.js";
import { CanvasLayer } from "./canvas-layer.js";

/** Between two locations further apart in time, the way is not known: it is dashed. */
const GAP = 600_000;

export const TrackLayer = CanvasLayer.extend({
    options: { name: "track" },
    track: null,
    /** Places of the first and last location of the trip that was chosen; nil: none. */
    chosen: null,

    show(track, chosen = null) {
        this.track = track;
        this.chosen = chosen;
        this.redraw();
    },

    draw(view) {
        if (!this.track?.count) return;
        const { context } = view;
        const [known, gaps] = this._paths(view, 0, this.track.count);
        context.lineJoin = context.lineCap = "round";
        this._line(context, known, color("halo"), 6);
        context.globalAlpha = this.chosen ? 0.45 : 1;
        this._line(context, known, color("track"), 3.5);
        context.setLineDash([2, 7]);
        this._line(context, gaps, color("track"), 2);
        context.setLineDash([]);
        context.globalAlpha = 1;
        if (this.chosen) {
            const [trip] = this._paths(view, this.chosen[0], this.chosen[1] + 1);
            this._line(context, trip, color("halo"), 8);
            this._line(context, trip, color("bad"), 4.5);
        }
    },

    _line(context, path, style, width) {
        context.strokeStyle = style;
        context.lineWidth = width;
        context.stroke(path);
    },

    _paths({ scale, left, top, width, first, last }, from, to) {
        const { xs, ys, times } = this.track;
        const known = new Path2D(), gaps = new Path2D();
        for (let world = first; world <= last; world++) {
            let lastX = (xs[from] + world) * scale - left, lastY = ys[from] * scale - top, lastTime = times[from];
            known.moveTo(lastX, lastY);
            for (let index = from + 1; index < to; index++) {
                const x = (xs[index] + world) * scale - left, y = ys[index] * scale - top, time = times[index];
                const isGap = time - lastTime > GAP;
                lastTime = time;
                if (!isGap && Math.abs(x - lastX) + Math.abs(y - lastY) < 1.2) continue;
                if (isGap || Math.abs(x - lastX) > width * 4) {
                    gaps.moveTo(lastX, lastY);
                    gaps.lineTo(x, y);
                    known.moveTo(x, y);
                } else known.lineTo(x, y);
                lastX = x;
                lastY = y;
            }
            // One that stands still is a dot.
            known.lineTo(lastX + 0.01, lastY);
        }
        return [known, gaps];
    },
});
