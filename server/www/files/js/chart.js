// Speed and altitude over time, on two canvases: the lines, and the cursor above them.
import { h } from "./dom.js";
import { dateOf, datedHourMinute, hourMinute } from "./format.js";
import { t } from "./language.js";
import { color, whenChanged } from "./theme.js";
import { units } from "./units.js";

/** Milliseconds. */
const MINUTE = 60_000, DAY = 86_400_000;
const LEFT = 34, RIGHT = 40, TOP = 6, BOTTOM = 18;

export class Chart {
    /** `seek(time)` is called while somebody points; `zoom(time, factor)` when the wheel is turned. */
    constructor(seek, zoom) {
        this.lines = h("canvas");
        this.cursor = h("canvas");
        this.element = h("div", { class: "plot", role: "img", "aria-label": t("Speed and altitude over time") }, this.lines, this.cursor);
        const point = (event) => {
            if (event.type === "pointermove" && !(event.buttons & 1)) return;
            if (event.type === "pointerdown") this.element.setPointerCapture(event.pointerId);
            seek(this.timeAt(event));
        };
        this.element.addEventListener("wheel", (event) => {
            if (!event.deltaY || !this.track) return;
            event.preventDefault();
            zoom(this.timeAt(event), event.deltaY < 0 ? 0.8 : 1.25);
        }, { passive: false });
        this.element.addEventListener("pointerdown", point);
        this.element.addEventListener("pointermove", point);
        this.watcher = new ResizeObserver(() => this.draw());
        this.watcher.observe(this.element);
        this.end = whenChanged(() => this.draw());
    }

    timeAt({ clientX }) {
        const box = this.element.getBoundingClientRect();
        const part = (clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
        return this.from + Math.max(0, Math.min(1, part)) * (this.to - this.from);
    }

    close() {
        this.watcher.disconnect();
        this.end();
    }

    /** `isDated`: what is shown is a part of more than a day. */
    show(track, from, to, trips = [], chosen = null, isDated = false) {
        Object.assign(this, { track, from, to, trips, chosen, isDated });
        this.draw();
    }

    place(time) {
        this.time = time;
        this.drawCursor();
    }

    fit(canvas) {
        const { clientWidth: width, clientHeight: height } = this.element, density = devicePixelRatio || 1;
        if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)) {
            canvas.width = Math.round(width * density);
            canvas.height = Math.round(height * density);
        }
        const context = canvas.getContext("2d");
        context.setTransform(density, 0, 0, density, 0, 0);
        context.clearRect(0, 0, width, height);
        return { context, width, height, x: (time) => LEFT + (time - this.from) / (this.to - this.from) * (width - LEFT - RIGHT) };
    }

    draw() {
        if (!this.track || !this.element.clientWidth) return;
        const frame = this.fit(this.lines);
        const { context, width, height, x } = frame;
        context.font = "11px system-ui, sans-serif";
        for (const trip of this.trips) {
            if (Date.parse(trip.end) < this.from || Date.parse(trip.start) > this.to) continue;
            const isChosen = this.chosen?.start === trip.start;
            context.fillStyle = color(isChosen ? "accent-soft" : "raised");
            const begin = Math.max(LEFT, x(Date.parse(trip.start)));
            context.fillRect(begin, TOP, Math.max(1, Math.min(width - RIGHT, x(Date.parse(trip.end))) - begin), height - TOP - BOTTOM);
        }
        this.drawTimes(frame);
        const columns = Math.max(1, Math.floor(width - LEFT - RIGHT));
        this.drawSeries(frame, this.extremes(this.track.altitudes, columns, 1 / units().short), "height", false);
        this.drawSeries(frame, this.extremes(this.track.speeds, columns, units().speed), "speed", true);
        this.drawCursor();
    }

    /** For each column of dots the least and the greatest value: a peak of one second is still seen. */
    extremes(values, columns, unit) {
        const low = new Float32Array(columns).fill(NaN), high = new Float32Array(columns).fill(NaN);
        const { times, count } = this.track;
        let least = Infinity, most = -Infinity;
        for (let index = 0; index < count; index++) {
            const value = values[index] * unit;
            if (Number.isNaN(value) || times[index] < this.from || times[index] > this.to) continue;
            const column = Math.min(columns - 1, Math.max(0, Math.floor((times[index] - this.from) / (this.to - this.from) * columns)));
            if (!(low[column] <= value)) low[column] = value;
            if (!(high[column] >= value)) high[column] = value;
            if (value < least) least = value;
            if (value > most) most = value;
        }
        return { low, high, least, most };
    }

    drawSeries({ context, width, height }, { low, high, least, most }, name, fromZero) {
        if (!(most >= least)) return;
        const bottom = fromZero ? 0 : Math.floor((least - 5) / 10) * 10;
        const top = niceAbove(Math.max(most, bottom + (fromZero ? 10 : 20)), bottom);
        const y = (value) => TOP + (top - value) / (top - bottom) * (height - TOP - BOTTOM);
        context.strokeStyle = context.fillStyle = color(name);
        context.lineWidth = 1.5;
        context.beginPath();
        let isOpen = false, silent = 0;
        for (let column = 0; column < low.length; column++) {
            if (Number.isNaN(low[column])) {
                // A gap of a few dots is between two locations.
                if (++silent > 6) isOpen = false;
                continue;
            }
            silent = 0;
            const at = LEFT + column + 0.5;
            if (isOpen) context.lineTo(at, y(high[column]));
            else context.moveTo(at, y(high[column]));
            if (low[column] !== high[column]) context.lineTo(at, y(low[column]));
            isOpen = true;
        }
        context.stroke();
        context.textBaseline = "middle";
        for (const value of [bottom, top]) {
            const text = `${Math.round(value)}${value === top && !fromZero ? ` ${units().shortSign}` : ""}`;
            context.textAlign = fromZero ? "right" : "left";
            context.fillText(text, fromZero ? LEFT - 4 : width - RIGHT + 4, Math.max(TOP + 5, y(value) - (value === bottom ? 4 : 0)));
        }
        if (fromZero) context.fillText(units().sign, LEFT - 4, TOP + 18);
        context.textAlign = "left";
    }

    drawTimes({ context, width, height, x }) {
        const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440].map((minutes) => minutes * MINUTE);
        const step = steps.find((value) => value / (this.to - this.from) * (width - LEFT - RIGHT) > 58) ?? DAY * Math.ceil((this.to - this.from) / DAY / 8);
        context.fillStyle = color("soft");
        context.strokeStyle = color("line");
        context.lineWidth = 1;
        context.textBaseline = "alphabetic";
        context.beginPath();
        let free = 0, isFirst = true;
        for (const { time, isMidnight } of this.times(step)) {
            const at = Math.round(x(time)) + 0.5;
            context.moveTo(at, TOP);
            context.lineTo(at, height - BOTTOM);
            // A day is named where it begins, and the one that is shown from its midst at its first hour.
            const text = !this.isDated || !(isMidnight || isFirst) ? hourMinute(time) : isMidnight ? dateOf(time) : datedHourMinute(time);
            isFirst = false;
            const left = at - 14, right = left + context.measureText(text).width;
            if (left < free || right > width) continue;
            context.fillText(text, left, height - 5);
            free = right + 6;
        }
        context.moveTo(LEFT, height - BOTTOM + 0.5);
        context.lineTo(width - RIGHT, height - BOTTOM + 0.5);
        context.stroke();
    }

    /** What the axis names: from local midnights on, as days may have 23 or 25 hours. */
    * times(step) {
        const day = new Date(this.from), days = Math.max(1, Math.round(step / DAY));
        for (day.setHours(0, 0, 0, 0); day.getTime() <= this.to; day.setDate(day.getDate() + days)) {
            const midnight = day.getTime(), end = step < DAY ? Math.min(this.to, new Date(day).setDate(day.getDate() + 1) - 1) : midnight;
            for (let time = midnight; time <= end; time += step) if (time >= this.from) yield { time, isMidnight: time === midnight };
        }
    }

    drawCursor() {
        if (!this.track || !this.element.clientWidth) return;
        const { context, height, x } = this.fit(this.cursor);
        if (!(this.time >= this.from)) return;
        context.strokeStyle = color("bad");
        context.lineWidth = 2;
        context.beginPath();
        context.moveTo(x(this.time), TOP);
        context.lineTo(x(this.time), height - BOTTOM);
        context.stroke();
    }
}

function niceAbove(value, bottom) {
    const span = value - bottom, power = 10 ** Math.floor(Math.log10(span));
    const factor = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= span);
    return bottom + factor * power;
}
