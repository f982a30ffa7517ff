"""A Home Assistant with the webhooks of OwnTracks and of the Traccar Client, a zone, and nothing else, for
nightly_home_assistant.py. It runs with the Python of a venv that has Home Assistant, and writes each state of a tracker as a
line of JSON.

Usage: home-assistant.py DIRECTORY PORT WEBHOOK-OF-OWNTRACKS WEBHOOK-OF-TRACCAR
"""
# ruff: noqa: E402 - the stub comes first
import asyncio
import json
import sys
import types

# OwnTracks imports it, for webhooks that are reached through it, and it imports half of Home Assistant.
sys.modules["homeassistant.components.cloud"] = types.ModuleType("homeassistant.components.cloud")

from homeassistant import bootstrap, config_entries, core, loader
from homeassistant.config import async_process_ha_core_config
from homeassistant.setup import async_setup_component


async def main(directory: str, port: int, hooks: dict):
    hass = core.HomeAssistant(directory)
    # What they need is installed already.
    hass.config.skip_pip = True
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    await bootstrap.async_load_base_functionality(hass)
    # Who may log in: nobody, but the server of the webhooks asks.
    await async_process_ha_core_config(hass, {"name": "test"})
    hass.bus.async_listen(core.EVENT_STATE_CHANGED, show)
    # A zone where no drive leads: what is there has been put there.
    settings = {"http": {"server_host": ["127.0.0.1"], "server_port": port},
                "zone": [{"name": "depot", "latitude": 40.0, "longitude": 9.0, "radius": 50}]}
    for name in ("homeassistant", "http", "webhook", "zone", "device_tracker"):
        if not await async_setup_component(hass, name, settings):
            raise SystemExit(f"{name} could not be set up")
    for name, hook in hooks.items():
        await hass.config_entries.async_add(config_entries.ConfigEntry(
            version=1, minor_version=1, domain=name, title=name, source="user",
            data={"webhook_id": hook, "secret": "", "cloudhook": False}))
        if not await async_setup_component(hass, name, settings):
            raise SystemExit(f"{name} could not be set up")
    await hass.async_start()
    print(json.dumps({"ready": sorted(hass.config.components)}), flush=True)
    await asyncio.Event().wait()


@core.callback
def show(event):
    state = event.data.get("new_state")
    if state is not None and state.domain == "device_tracker":
        print(json.dumps({"entity": state.entity_id, "state": state.state, "attributes": dict(state.attributes)},
                         default=str), flush=True)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), {"owntracks": sys.argv[3], "traccar": sys.argv[4]}))
