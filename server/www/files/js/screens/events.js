// What happened to the fleet: all that vehicles tell, the newest first.
import { h } from "../dom.js";
import { eventKinds, eventText } from "../events.js";
import * as fleet from "../fleet.js";
import { moment, stamp, zone } from "../format.js";
import { t } from "../language.js";
import { chosenIn, filters, newest, queryOf } from "../newest.js";
import { address, note } from "../router.js";

/** Around an event, so long is shown of its vehicle. */
const AROUND = 1_800_000;

export function screen(main, parts, values) {
    const chosen = chosenIn(values);
    const list = newest({
        path: "/v1/events", name: "events", caption: t("Events"), heads: [t("Time"), t("Vehicle"), t("What happened")], nothing: t("Nothing has happened."),
        query: () => queryOf(chosen),
        cells: ({ device, name, event }) => {
            const time = Date.parse(event.timestamp);
            return [moment(time), h("a", { href: address(["vehicle", device], { from: stamp(time - AROUND), to: stamp(time + AROUND), at: stamp(time), tab: "events" }) }, name), eventText(event)];
        },
    });
    const bar = h("div");
    const fill = () => bar.replaceChildren(filters(chosen, eventKinds, () => {
        note(chosen);
        list.load();
    }));
    main.append(h("div", { class: "sheet" }, h("h1", {}, t("Events")), bar, list.element,
        h("p", { class: "soft" }, t("Vehicles tell of what “vehicle.events” in their configuration names, with their next upload. Times are those of {zone}.", { zone }))));
    fill();
    list.load();
    const end = fleet.follow((news, isAll) => {
        // Not while somebody chooses.
        if (isAll && !bar.contains(document.activeElement)) fill();
    });
    return {
        close() {
            end();
            list.close();
        },
    };
}
