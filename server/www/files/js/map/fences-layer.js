// The fences of the fleet, on a map: those in sight, read anew when an admin has changed the fleet.
import { read } from "../api.js";
import * as fleet from "../fleet.js";
import { t } from "../language.js";
import { FenceShapes } from "./shapes.js";

export class FencesLayer {
    /** @param device number of the vehicle whose fences are shown, with how far it is with each; undefined: all */
    constructor(map, device) {
        Object.assign(this, { device, fences: [], states: new Map(), loaded: -1 });
        this.shapes = new FenceShapes(map);
        map.on("moveend", () => this.redraw());
        this.end = fleet.follow(() => this.loaded !== fleet.loads && this.load());
        this.load();
    }

    async load() {
        this.loaded = fleet.loads;
        try {
            const [all, own] = await Promise.all([read("/v1/fences"), this.device && read(`/v1/devices/${this.device}/fences`)]);
            this.states = new Map(own?.fences.map((state) => [state.id, state]));
            this.fences = own ? all.fences.filter(({ id }) => this.states.has(id)) : all.fences;
        } catch {
            // They are shown with the next change of the fleet.
            return;
        }
        this.redraw();
    }

    redraw() {
        if (this.isClosed) return;
        this.shapes.show(this.fences.map((fence) => {
            const { state = "taken", reason } = this.states.get(fence.id) ?? {};
            return { fence, className: state === "taken" ? "fence" : "fence is-new", words: words(fence.name, state, reason) };
        }));
    }

    close() {
        this.isClosed = true;
        this.end();
    }
}

const words = (fence, state, reason) => (state === "taken" ? fence
    : reason ? t("{fence} (not taken: {reason})", { fence, reason }) : t("{fence} (on its way)", { fence }));
