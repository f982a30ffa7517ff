/// Where devices have been and are.
enum FleetEndpoints: EndpointGroup {
    static var endpoints: [Endpoint] {
        Endpoint(
            .get, "/v1/devices/{device}/locations", for: .readers,
            Description(
                "locations", "Locations by time.",
                query: [
                    .from, .to, .limit,
                    .named(
                        "format", "json, if nothing else is asked for.",
                        Schema.word(of: ["json", "geojson", "gpx", "csv", "packed"])),
                ],
                .status(
                    200, "As asked for.",
                    content: #"""
                        "application/json":{"schema":{"type":"object","required":["device","name","locations"],
                        "properties":{"device":{"type":"integer"},"name":{"type":"string"},
                        "locations":{"type":"array","items":\#(Schema.ref("Location"))}}}},
                        "application/geo+json":{"schema":{"type":"object"}},"application/gpx+xml":{},
                        "application/vnd.beekon.track":{},"text/csv":{"schema":{"type":"string"}}
                        """#))
        ) { handlers, call, device in
            try await handlers.reader.locations(of: device, for: call.viewer, LocationQuery(call.query))
        }
        Endpoint(
            .get, "/v1/devices/{device}/events", for: .readers,
            Description(
                "events", "Crossings of geofences, and what else a vehicle told, by time.",
                query: [.from, .to, .limit],
                .ok(
                    "Events.",
                    Schema.list("events", of: #"{"type":"object","required":["id","kind","timestamp"]}"#)))
        ) { handlers, call, device in
            try await handlers.reader.events(of: device, for: call.viewer, LocationQuery(call.query))
        }
        Endpoint(
            .get, "/v1/devices/{device}/trips", for: .readers,
            Description(
                "trips", "What lies between two stays of five minutes.", query: [.from, .to, .limit],
                .ok(
                    "Trips.",
                    Schema.list(
                        "trips",
                        of: #"""
                            {"type":"object","required":["start","end","from","to","distance","duration",
                            "locations"]}
                            """#)))
        ) { handlers, call, device in
            try await handlers.reader.trips(of: device, for: call.viewer, LocationQuery(call.query))
        }
        Endpoint(
            .get, "/v1/trips", for: .readers,
            Description(
                "fleetTrips",
                "Trips of all vehicles, as they told them, or else as their locations show them.",
                query: [
                    .from, .to, .named("group", "Of vehicles of this group alone.", Schema.text),
                    .named("format", "json or csv.", Schema.word(of: ["json", "csv"])),
                ],
                .status(
                    200, "Trips, by vehicle and time.",
                    content: #"""
                        "application/json":{"schema":{"type":"object","required":["trips"],
                        "properties":{"trips":{"type":"array","items":{"type":"object","required":["device",
                        "name","start","end","distance_meters","duration_seconds","source"]}}}}},
                        "text/csv":{"schema":{"type":"string"}}
                        """#))
        ) { handlers, call in try await handlers.reader.trips(for: call.viewer, TripQuery(call.query)) }
        Endpoint(
            .get, "/v1/events", for: .readers,
            Description(
                "fleetEvents", "Events of all vehicles, the newest first.",
                query: [
                    .from, .to, .device, .group,
                    .named(
                        "kind", "geofence_enter, geofence_exit, or a kind as vehicles name it.", Schema.name),
                    .before, .page,
                ],
                .ok(
                    "Events; the cursor of the last of them, as before, asks for those behind it.",
                    Schema.list(
                        "events",
                        of: #"""
                            {"type":"object","required":["cursor","device","name","event"],
                            "properties":{"cursor":{"type":"string"},"device":{"type":"integer"},
                            "name":{"type":"string"},"event":{"type":"object","required":["id","kind",
                            "timestamp"]}}}
                            """#)))
        ) { handlers, call in
            try await handlers.reader.events(for: call.viewer, FleetQuery(call.query, hasRule: false))
        }
        Endpoint(
            .get, "/v1/live", for: .readers, traits: .confirmsRight,
            Description(
                "live",
                "Changes as they come: event device, with a device as data; with form=compact, event moves with rows of numbers; event alive every 15 s.",
                query: [
                    .named(
                        "form", "compact: one event a second for all that have moved.",
                        Schema.word(of: ["full", "compact"]))
                ],
                .ok("Server-sent events.", as: "text/event-stream"))
        ) { handlers, call in
            try await handlers.hub.stream(LiveHub.Form(call.query), for: call.viewer, call.confirm)
        }
        Endpoint(
            .get, "/v1/map/{zoom}/{column}/{row}", for: .readers,
            Description(
                "tile", "A picture of the operator's own map; rows are counted from the north.",
                .status(
                    200, "The picture.",
                    content: #"""
                        "image/png":{},"image/jpeg":{},"image/webp":{}
                        """#),
                .done("There is none here."), .status(304, "As the tag that was shown."))
        ) { handlers, call, zoom, column, row in
            try await handlers.tiles.answer(call.request, zoom: zoom, column: column, row: row)
        }
    }

    static var schemas: KeyValuePairs<String, String> {
        [
            "Location":
                #"""
            {"type":"object","required":["id","timestamp","latitude","longitude","is_mock"],
            "properties":{"id":{"type":"string"},"timestamp":\#(Schema.time),
            "latitude":{"type":"number"},"longitude":{"type":"number"},
            "trigger":{"type":"string"},"motion":{"type":"string"},"is_mock":{"type":"boolean"},
            "accuracy":{"type":"number"},"speed":{"type":"number"},"bearing":{"type":"number"},
            "altitude":{"type":"number"},"activity":{"type":"string"},
            "quality":{"type":"string"},"session_id":{"type":"string"},
            "extras":{"type":"object"}}}
            """#
        ]
    }
}
