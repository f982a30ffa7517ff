/// The fences of the fleet.
enum FenceEndpoints: EndpointGroup {
    static var endpoints: [Endpoint] {
        Endpoint(
            .get, "/v1/fences", for: .readers,
            Description(
                "fences", "The fences of the fleet, as far as they are for vehicles that the caller sees.",
                .ok("In the order in which they were drawn.", Schema.list("fences", of: Schema.ref("Fence"))))
        ) { handlers, call in try await handlers.fences.all(for: call.viewer) }
        Endpoint(
            .post, "/v1/fences", for: .admins,
            Description(
                "addFence", "Draws a fence; each vehicle that it is for takes it with its next upload.",
                body: .json(Schema.ref("FenceDraft")), .created("The fence.", Schema.ref("Fence")))
        ) { handlers, call in
            try await handlers.fences.add(call.request, by: call.identity.name, now: call.wall)
        }
        Endpoint(
            .get, "/v1/fences/{fence}", for: .readers,
            Description(
                "fence", "One of them.", .ok("The fence.", Schema.ref("Fence")))
        ) { handlers, call, fence in try await handlers.fences.one(fence, for: call.viewer) }
        Endpoint(
            .put, "/v1/fences/{fence}", for: .admins,
            Description(
                "replaceFence", "Puts another shape, name, or other vehicles in place of those it has.",
                body: .json(Schema.ref("FenceDraft")), .ok("The fence.", Schema.ref("Fence")))
        ) { handlers, call, fence in
            try await handlers.fences.replace(fence, call.request, by: call.identity.name, now: call.wall)
        }
        Endpoint(
            .delete, "/v1/fences/{fence}", for: .admins,
            Description(
                "removeFence", "Removes it; vehicles forget it with their next upload.",
                .done("It is removed."))
        ) { handlers, _, fence in try await handlers.fences.remove(fence) }
        Endpoint(
            .get, "/v1/fences/{fence}/devices", for: .readers,
            Description(
                "fenceDevices", "The vehicles that a fence is for, and whether they have it.",
                .ok(
                    "By number.",
                    Schema.list(
                        "devices",
                        of: #"""
                            {"type":"object","required":["device","state"],
                            "properties":{"device":{"type":"integer","format":"int64"},
                            "state":{"enum":["taken","waiting","refused"]},"reason":{"type":"string"}}}
                            """#)))
        ) { handlers, call, fence in try await handlers.fences.devices(of: fence, for: call.viewer) }
        Endpoint(
            .get, "/v1/devices/{device}/fences", for: .readers,
            Description(
                "deviceFences", "The fences of the fleet that a vehicle is to have, and whether it has them.",
                .ok(
                    "By number.",
                    Schema.list(
                        "fences",
                        of: #"""
                            {"type":"object","required":["id","state"],"properties":{"id":{"type":"integer",
                            "format":"int64"},"state":{"enum":["taken","waiting","refused"]},
                            "reason":{"type":"string"}}}
                            """#)))
        ) { handlers, call, device in try await handlers.fences.fences(of: device, for: call.viewer) }
    }

    static var schemas: KeyValuePairs<String, String> {
        [
            "FenceShape":
                #"""
            {"type":"object","description":"A circle, or a polygon.",
            "properties":{"latitude":{"type":"number","minimum":-90,"maximum":90},
            "longitude":{"type":"number","minimum":-180,"maximum":180},
            "radius_meters":{"type":"number","exclusiveMinimum":0,"maximum":10000000},
            "polygon":{"type":"array","minItems":3,"maxItems":501,
            "description":"Longitude and latitude of each corner.","items":{"type":"array",
            "minItems":2,"maxItems":2,"items":{"type":"number"}}},
            "notify_on_entry":{"type":"boolean"},"notify_on_exit":{"type":"boolean"},
            "dwell_seconds":{"type":"number","exclusiveMinimum":0,"maximum":31536000,
            "description":"After which a stay is told."}}}
            """#,
            "FenceDraft":
                #"""
            {"allOf":[\#(Schema.ref("FenceShape")),{"type":"object","required":["name"],
            "properties":{"name":\#(Schema.name),"all":{"type":"boolean",
            "description":"For every vehicle."},"groups":{"type":"array",
            "items":{"type":"string"}},"devices":{"type":"array","items":{"type":"integer",
            "format":"int64"}}}}]}
            """#,
            "Fence":
                #"""
            {"allOf":[\#(Schema.ref("FenceDraft")),{"type":"object","required":["id","created",
            "changed","author"],"properties":{"id":{"type":"integer","format":"int64"},
            "created":\#(Schema.time),"changed":\#(Schema.time),"author":{"type":"string"}}}]}
            """#,
        ]
    }
}
