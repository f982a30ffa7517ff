// Time within a stretch: a slider, play and pause, and how fast.
import { h, icon } from "./dom.js";
import { t } from "./language.js";

/** Seconds of the vehicle's time for each of ours. */
const speeds = [1, 10, 60, 300, 1000];

export class Player {
    /** `moved(time, isPlaying)` is called with each moment; `said(time)` is the moment in words. */
    constructor(moved, said) {
        Object.assign(this, { moved, said });
        this.speed = 60;
        this.button = h("button", { type: "button", onclick: () => (this.frame ? this.stop() : this.play()) });
        this.slider = h("input", {
            type: "range", "aria-label": t("Time"), step: 1000, oninput: () => { this.stop(); this.go(Number(this.slider.value)); },
        });
        this.choice = h("select", { "aria-label": t("Speed of the playback"), onchange: () => { this.speed = Number(this.choice.value); } },
            speeds.map((speed) => h("option", { value: speed, selected: speed === this.speed }, `${speed} ×`)));
        this.paint();
    }

    /** Plays the time from one moment to another; where there is something to see in it lies between `first` and `last`. */
    show(from, to, first, last, time) {
        this.stop();
        this.range(from, to, first, last);
        this.go(time);
    }

    /** The same with other bounds; a playback goes on. */
    range(from, to, first, last) {
        Object.assign(this, { from, to, first, last });
        this.slider.min = from;
        this.slider.max = to;
        this.slider.value = this.time;
    }

    go(time) {
        this.time = Math.max(this.from, Math.min(this.to, time));
        this.slider.value = this.time;
        this.slider.setAttribute("aria-valuetext", this.said(this.time));
        this.moved(this.time, Boolean(this.frame));
    }

    play() {
        // Before the first location there is nothing to see.
        if (this.time < this.first || this.time >= Math.min(this.to, this.last) - 1000) this.go(Math.max(this.from, this.first));
        let last = performance.now();
        const step = (now) => {
            const next = this.time + (now - last) * this.speed;
            last = now;
            this.go(next);
            if (next >= Math.min(this.to, this.last)) this.stop();
            else if (this.frame) this.frame = requestAnimationFrame(step);
        };
        this.frame = requestAnimationFrame(step);
        this.paint();
    }

    stop() {
        if (!this.frame) return;
        cancelAnimationFrame(this.frame);
        this.frame = 0;
        this.paint();
        this.moved(this.time, false);
    }

    paint() {
        const word = this.frame ? t("Pause") : t("Play");
        this.button.replaceChildren(icon(this.frame ? "pause" : "play"));
        this.button.setAttribute("aria-label", word);
        this.button.title = word;
    }
}
