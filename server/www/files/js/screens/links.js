// Links that show where one vehicle is, to somebody without an account.
import { read, send } from "../api.js";
import { panel, secret } from "../dialog.js";
import { form, h } from "../dom.js";
import { moment } from "../format.js";

/** A dialog with the links of a vehicle that are good, which makes and ends them. */
export async function links(vehicle) {
    const path = `/v1/devices/${vehicle.id}/links`;
    const list = h("ul", { class: "items" }), trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const make = form({ class: "form" }, async (fields) => {
        const link = await (await send("POST", path, { hours: Number(fields.hours.value) })).json();
        dialog.close();
        secret(`Link to ${vehicle.name}`, `Whoever opens it sees where ${vehicle.name} is, from now on until ${moment(Date.parse(link.expires))}, and nothing of before.`,
            location.origin + link.path);
    }, h("label", { class: "field" }, "Hours for which it is good (1 to 72)", h("input", { name: "hours", type: "number", value: 24, min: 1, max: 72, required: true })),
    h("button", { type: "submit", class: "primary" }, "Make a link"));
    const dialog = panel(`Links to ${vehicle.name}`,
        h("p", { class: "soft" }, "A link shows the place of this vehicle alone, as it is at the moment: no history, and nothing of before it was made."), trouble, list, make);

    async function fill() {
        try {
            const { links: all } = await read(path);
            list.replaceChildren(...all.map((link) => h("li", {}, h("div", { class: "row spread" },
                h("span", {}, `Link ${link.id}, until ${moment(Date.parse(link.expires))}, by ${link.author}`),
                h("button", {
                    type: "button", class: "danger", "aria-label": `End link ${link.id}`, onclick: async () => {
                        try {
                            await send("DELETE", `${path}/${link.id}`);
                            await fill();
                        } catch (problem) {
                            told(problem);
                        }
                    },
                }, "End")))));
            if (!all.length) list.append(h("li", { class: "soft" }, "There are none."));
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
