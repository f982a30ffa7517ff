// A canvas over the map that moves with it, and is drawn anew when it has come to rest.
import * as L from "../../leaflet/leaflet.esm.min.js";
import { whenChanged } from "../theme.js";

/** Unit of everything drawn: the world is 1 wide, in Mercator's projection. */
export const project = (latitude, longitude) => {
    const sine = Math.sin(Math.max(-85.0511, Math.min(85.0511, latitude)) * Math.PI / 180);
    return [longitude / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
};

export const CanvasLayer = L.Layer.extend({
    /** Beyond each edge, as a part of the map's size: so far it can be dragged before anything is missing. */
    options: { padding: 0.25, pane: "overlayPane", name: "" },

    onAdd(map) {
        this._canvas = L.DomUtil.create("canvas", "leaflet-zoom-animated");
        this._canvas.setAttribute("aria-hidden", "true");
        this._canvas.dataset.layer = this.options.name;
        this.getPane().append(this._canvas);
        this._unfollow = whenChanged(() => this.redraw());
        this._map = map;
        this.redraw();
    },

    onRemove() {
        this._unfollow();
        this._canvas.remove();
    },

    getEvents() {
        return { viewreset: this.redraw, moveend: this.redraw, resize: this.redraw, zoom: this._onZoom, zoomanim: this._onZoomAnim };
    },

    /** What is drawn has changed, or the map has moved. */
    redraw() {
        const map = this._map;
        if (!map) return;
        const size = map.getSize(), padding = this.options.padding;
        const corner = map.containerPointToLayerPoint(size.multiplyBy(-padding)).round();
        const width = Math.round(size.x * (1 + 2 * padding)), height = Math.round(size.y * (1 + 2 * padding));
        const density = devicePixelRatio || 1, canvas = this._canvas;
        if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)) {
            canvas.width = Math.round(width * density);
            canvas.height = Math.round(height * density);
            canvas.style.width = `${width}px`;
            canvas.style.height = `${height}px`;
        }
        this._center = map.getCenter();
        this._zoom = map.getZoom();
        L.DomUtil.setTransform(canvas, corner, 1);
        L.DomUtil.setPosition(canvas, corner);
        const origin = map.getPixelOrigin().add(corner), scale = 256 * 2 ** this._zoom;
        const context = canvas.getContext("2d");
        context.setTransform(density, 0, 0, density, 0, 0);
        context.clearRect(0, 0, width, height);
        this.view = { context, width, height, scale, left: origin.x, top: origin.y, zoom: this._zoom };
        // Copies of the world that are in sight.
        this.view.first = Math.floor(origin.x / scale);
        this.view.last = Math.floor((origin.x + width) / scale);
        this.draw(this.view);
    },

    _onZoom() {
        this._transform(this._map.getCenter(), this._map.getZoom());
    },

    _onZoomAnim(event) {
        this._transform(event.center, event.zoom);
    },

    /** As Leaflet's own renderers do it while a zoom is under way. */
    _transform(center, zoom) {
        const map = this._map, scale = map.getZoomScale(zoom, this._zoom);
        const position = L.DomUtil.getPosition(this._canvas);
        const half = map.getSize().multiplyBy(0.5 + this.options.padding);
        const offset = map.project(center, zoom).subtract(map.project(this._center, zoom));
        L.DomUtil.setTransform(this._canvas, half.multiplyBy(-scale).add(position).add(half).subtract(offset), scale);
    },
});
