"""A Home Assistant with the webhooks of OwnTracks and of the Traccar Client, or with a broker; two zones, and nothing else, for
nightly_home_assistant.py. It runs with the Python of a venv that has Home Assistant, and writes each state of a tracker or
sensor as a line of JSON.

Usage: home-assistant.py DIRECTORY PORT WEBHOOK-OF-OWNTRACKS WEBHOOK-OF-TRACCAR
       home-assistant.py DIRECTORY PORT PORT-OF-BROKER
"""
# ruff: noqa: E402 - the stub comes first
import asyncio
import json
import pathlib
import sys
import types

# OwnTracks imports it, for webhooks that are reached through it, and it imports half of Home Assistant.
sys.modules["homeassistant.components.cloud"] = types.ModuleType("homeassistant.components.cloud")

from homeassistant import bootstrap, config_entries, core, loader
from homeassistant.config import async_process_ha_core_config
from homeassistant.setup import async_setup_component


async def main(directory: str, port: int, entries: dict):
    # MQTT reads it, though there is nothing in it.
    pathlib.Path(directory, "configuration.yaml").touch()
    hass = core.HomeAssistant(directory)
    # What they need is installed already.
    hass.config.skip_pip = True
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    await bootstrap.async_load_base_functionality(hass)
    # Who may log in: nobody, but the server of the webhooks asks.
    await async_process_ha_core_config(hass, {"name": "test"})
    hass.bus.async_listen(core.EVENT_STATE_CHANGED, show)
    # A zone where no drive leads: what is there has been put there. In the other is every drive.
    settings = {"http": {"server_host": ["127.0.0.1"], "server_port": port},
                "zone": [{"name": "depot", "latitude": 40.0, "longitude": 9.0, "radius": 50},
                         {"name": "garage", "latitude": 50.0, "longitude": 8.0, "radius": 2000}]}
    for name in ("homeassistant", "http", "webhook", "zone", "device_tracker"):
        if not await async_setup_component(hass, name, settings):
            raise SystemExit(f"{name} could not be set up")
    for name, data in entries.items():
        # It is there after a restart.
        if not hass.config_entries.async_entries(name):
            await hass.config_entries.async_add(config_entries.ConfigEntry(
                version=1, minor_version=1, domain=name, title=name, source="user", data=data))
        if not await async_setup_component(hass, name, settings):
            raise SystemExit(f"{name} could not be set up")
    await hass.async_start()
    print(json.dumps({"ready": sorted(hass.config.components)}), flush=True)
    await asyncio.Event().wait()


@core.callback
def show(event):
    state = event.data.get("new_state")
    if state is None:
        print(json.dumps({"gone": event.data["entity_id"]}), flush=True)
    elif state.domain in ("device_tracker", "sensor", "binary_sensor"):
        print(json.dumps({"entity": state.entity_id, "state": state.state, "attributes": dict(state.attributes)},
                         default=str), flush=True)


def webhook(name: str) -> dict:
    return {"webhook_id": name, "secret": "", "cloudhook": False}


directory, port, *rest = sys.argv[1:]
found = ({"owntracks": webhook(rest[0]), "traccar": webhook(rest[1])} if len(rest) == 2
         else {"mqtt": {"broker": "127.0.0.1", "port": int(rest[0]), "discovery": True}})
asyncio.run(main(directory, int(port), found))
