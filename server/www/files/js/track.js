// A stretch of a vehicle's locations, as the server packs them: columns of numbers, by time.
import { request } from "./api.js";
import { stamp } from "./format.js";
import { project } from "./map/canvas-layer.js";

const ROW = 22;
const motions = ["moving", "stationary", "unknown"];

export async function loadTrack(id, from, to, signal) {
    const answer = await request(
        `/v1/devices/${id}/locations?format=packed&from=${stamp(from)}&to=${new Date(to).toISOString()}`, { signal });
    return unpack(await answer.arrayBuffer());
}

/** Both, as one: of the second, what is later than all of the first. */
export function joined(first, second) {
    const begin = first.count && second.count && second.times[0] <= first.times[first.count - 1]
        ? Array.from(second.times).findIndex((time) => time > first.times[first.count - 1]) : 0;
    if (begin < 0 || !second.count) return first;
    const both = { count: first.count + second.count - begin };
    for (const [key, values] of Object.entries(first)) {
        if (key === "count") continue;
        both[key] = new values.constructor(both.count);
        both[key].set(values);
        both[key].set(second[key].subarray(begin), first.count);
    }
    return both;
}

/** See PackedTrack.swift for the layout. */
export function unpack(buffer) {
    const view = new DataView(buffer);
    let count = 0;
    for (let offset = 0; offset + 12 <= view.byteLength;) {
        const rows = view.getUint32(offset, true);
        count += rows;
        offset += 12 + rows * ROW;
    }
    const track = {
        count, times: new Float64Array(count), latitudes: new Float64Array(count), longitudes: new Float64Array(count),
        xs: new Float64Array(count), ys: new Float64Array(count), speeds: new Float32Array(count), altitudes: new Float32Array(count),
        bearings: new Float32Array(count), accuracies: new Float32Array(count), codes: new Int16Array(count),
    };
    let index = 0;
    const unless = (value, none, unit) => (value === none ? NaN : value / unit);
    for (let offset = 0; offset + 12 <= view.byteLength;) {
        const rows = view.getUint32(offset, true), base = view.getFloat64(offset + 4, true);
        offset += 12;
        for (let row = 0; row < rows; row++, offset += ROW, index++) {
            track.times[index] = base + view.getUint32(offset, true);
            const latitude = view.getInt32(offset + 4, true) / 1e7, longitude = view.getInt32(offset + 8, true) / 1e7;
            track.latitudes[index] = latitude;
            track.longitudes[index] = longitude;
            [track.xs[index], track.ys[index]] = project(latitude, longitude);
            track.altitudes[index] = unless(view.getInt16(offset + 12, true), -32768, 2);
            track.speeds[index] = unless(view.getUint16(offset + 14, true), 65535, 100);
            track.bearings[index] = unless(view.getUint16(offset + 16, true), 65535, 100);
            track.accuracies[index] = unless(view.getUint16(offset + 18, true), 65535, 10);
            track.codes[index] = view.getInt16(offset + 20, true);
        }
    }
    return track;
}

export const motionOf = (track, index) => motions[track.codes[index] >> 3 & 3];

/** The last location at or before a time; 0 when all are later. */
export function indexAt(track, time) {
    let low = 0, high = track.count - 1;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (track.times[middle] <= time) low = middle;
        else high = middle - 1;
    }
    return low;
}

/** Metres, seconds in motion, and the highest speed. */
export function sums(track) {
    let meters = 0, moving = 0, top = 0;
    const radians = Math.PI / 180;
    for (let index = 1; index < track.count; index++) {
        if (track.speeds[index] > top) top = track.speeds[index];
        const isMoving = (track.codes[index] >> 3 & 3) === 0 || track.speeds[index] >= 1;
        if (!isMoving) continue;
        const north = (track.latitudes[index] - track.latitudes[index - 1]) * radians;
        const east = (track.longitudes[index] - track.longitudes[index - 1]) * radians * Math.cos(track.latitudes[index] * radians);
        meters += Math.hypot(north, east) * 6_371_009;
        const seconds = (track.times[index] - track.times[index - 1]) / 1000;
        if (seconds < 300) moving += seconds;
    }
    return { meters, moving, top };
}
