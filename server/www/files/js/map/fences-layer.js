// The fences of the fleet, on a map: those in sight, read anew when an admin has changed the fleet.
import { read } from "../api.js";
import { h } from "../dom.js";
import * as fleet from "../fleet.js";
import { t } from "../language.js";
import { L } from "./base.js";
import { boundsOf, shapeOf } from "./shapes.js";

/** Shapes that are drawn at once. */
const MOST = 300;

export class FencesLayer {
    /** @param device number of the vehicle whose fences are shown, with how far it is with each; undefined: all */
    constructor(map, device) {
        Object.assign(this, { map, device, fences: [], states: new Map(), loaded: -1 });
        this.layer = L.layerGroup().addTo(map);
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
        this.layer.clearLayers();
        const sight = this.map.getBounds();
        for (const fence of this.fences.filter((one) => sight.intersects(boundsOf(one))).slice(0, MOST)) {
            const { state = "taken", reason } = this.states.get(fence.id) ?? {};
            const shape = shapeOf(fence, state === "taken" ? "fence" : "fence is-new");
            // As an element: a name is text, whatever is in it.
            if (shape) this.layer.addLayer(shape.bindTooltip(h("span", {}, words(fence.name, state, reason))));
        }
    }

    close() {
        this.isClosed = true;
        this.end();
    }
}

const words = (fence, state, reason) => (state === "taken" ? fence
    : reason ? t("{fence} (not taken: {reason})", { fence, reason }) : t("{fence} (on its way)", { fence }));
