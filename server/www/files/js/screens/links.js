// Links that show where one vehicle is, to somebody without an account.
import { read, send } from "../api.js";
import { panel, secret } from "../dialog.js";
import { form, h } from "../dom.js";
import { moment } from "../format.js";
import { t } from "../language.js";

/** A dialog with the links of a vehicle that are good, which makes and ends them. */
export async function links(vehicle) {
    const path = `/v1/devices/${vehicle.id}/links`;
    const list = h("ul", { class: "items" }), trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const make = form({ class: "form" }, async (fields) => {
        const link = await (await send("POST", path, { hours: Number(fields.hours.value) })).json();
        dialog.close();
        secret(t("Link to {name}", vehicle), t("Whoever opens it sees where {name} is, from now on until {time}, and nothing of before.", { name: vehicle.name, time: moment(Date.parse(link.expires)) }),
            location.origin + link.path, null, t("Anybody who has it sees where {name} is.", vehicle));
    }, h("label", { class: "field" }, t("Hours for which it is good (1 to 72)"), h("input", { name: "hours", type: "number", value: 24, min: 1, max: 72, required: true })),
    h("button", { type: "submit", class: "primary" }, t("Make a link")));
    const dialog = panel(t("Links to {name}", vehicle),
        h("p", { class: "soft" }, t("A link shows the place of this vehicle alone, as it is at the moment: no history, and nothing of before it was made.")), trouble, list, make);

    async function fill() {
        try {
            const { links: all } = await read(path);
            list.replaceChildren(...all.map((link) => h("li", {}, h("div", { class: "row spread" },
                h("span", {}, t("Link {id}, until {time}, by {author}", { ...link, time: moment(Date.parse(link.expires)) })),
                h("button", {
                    type: "button", class: "danger", "aria-label": t("End link {id}", link), onclick: async () => {
                        try {
                            await send("DELETE", `${path}/${link.id}`);
                            await fill();
                        } catch (problem) {
                            told(problem);
                        }
                    },
                }, t("End"))))));
            if (!all.length) list.append(h("li", { class: "soft" }, t("There are none.")));
        } catch (problem) {
            told(problem);
        }
    }

    function told(problem) {
        trouble.textContent = problem.message;
        trouble.hidden = false;
    }

    await fill();
}
