internal import EnvelopeReader

/// Devices, their commands, and links that show where one is.
enum DeviceEndpoints: EndpointGroup {
    static var endpoints: [Endpoint] {
        Endpoint(
            .get, "/v1/devices", for: .readers,
            Description(
                "devices", "All devices.",
                .ok("By number.", Schema.list("devices", of: Schema.ref("Device"))))
        ) { handlers, call in try await handlers.reader.devices(for: call.viewer) }
        Endpoint(
            .post, "/v1/devices", for: .admins,
            Description(
                "addDevice", "Makes a device.",
                body: .json(Schema.named),
                .tokens("With its tokens, shown only once."))
        ) { handlers, call in try await handlers.registry.addDevice(call.request, now: call.wall) }
        Endpoint(
            .get, "/v1/devices/{device}", for: .readers,
            Description(
                "device", "One device.", .ok("The device.", Schema.ref("Device")))
        ) { handlers, call, device in try await handlers.reader.device(device, for: call.viewer) }
        Endpoint(
            .patch, "/v1/devices/{device}", for: .admins,
            Description(
                "editDevice", "Changes what a device is called, and its group; an empty text takes away.",
                body: .json(
                    #"""
                    {"type":"object","anyOf":[{"required":["name"]},{"required":["plate"]},
                    {"required":["note"]},{"required":["group"]}],"properties":{
                    "name":\#(Schema.ref("Name")),"plate":\#(Schema.words(20)),
                    "note":\#(Schema.words(500)),"group":\#(Schema.words(100))}}
                    """#),
                .done("Changed."))
        ) { handlers, call, device in try await handlers.registry.changeDevice(device, call.request) }
        Endpoint(
            .delete, "/v1/devices/{device}", for: .admins,
            Description(
                "revokeDevice", "Ends its tokens for good; its locations stay.", .done("Ended."))
        ) { handlers, call, device in try await handlers.registry.revokeDevice(device, now: call.now) }
        Endpoint(
            .delete, "/v1/devices/{device}/data", for: .admins,
            Description(
                "deleteDevice", "Deletes a device with all that it has sent; its tokens end at once.",
                .done("Nobody sees it any more; its rows go bit by bit."))
        ) { handlers, call, device in try await handlers.registry.deleteDevice(device, now: call.wall) }
        Endpoint(
            .post, "/v1/devices/{device}/tokens", for: .admins,
            Description(
                "renewTokens", "New tokens for a device; those that it had end at once.",
                .tokens("The pair, shown only once."))
        ) { handlers, call, device in
            try await handlers.registry.renewTokens(of: device, call.request, now: call.wall)
        }
        Endpoint(
            .get, "/v1/devices/{device}/installations", for: .readers,
            Description(
                "installations", "Which installation of beekond a device is, and who else shows its tokens.",
                .ok(
                    "The newest first.",
                    Schema.list(
                        "installations",
                        of: #"""
                            {"type":"object","required":["install_id","state","since"],
                            "properties":{"install_id":{"type":"string"},"state":{"enum":["bound","earlier",
                            "other"]},"since":\#(Schema.time)}}
                            """#)))
        ) { handlers, call, device in
            try await handlers.registry.installations(of: device, for: call.viewer)
        }
        Endpoint(
            .post, "/v1/devices/{device}/installations", for: .admins,
            Description(
                "confirmInstallation", "Binds the device to one of them: commands are for it.",
                body: .json(
                    #"""
                    {"type":"object","required":["install_id"],
                    "properties":{"install_id":{"type":"string","format":"uuid"}}}
                    """#),
                problems: [400, 401, 403, 404, 405, 413, 503], .done("It is bound."))
        ) { handlers, call, device in
            try await handlers.registry.confirmInstallation(of: device, call.request)
        }
        Endpoint(
            .get, "/v1/devices/{device}/log", for: .admins,
            Description(
                "log", "The newest log that a vehicle sent.", .ok("Lines.", as: "text/plain"))
        ) { handlers, call, device in try await handlers.logs.newest(of: device, for: call.viewer) }
        Endpoint(
            .get, "/v1/devices/{device}/commands", for: .readers,
            Description(
                "commands", "Commands, newest first.",
                .ok("With results.", Schema.list("commands", of: Schema.ref("Command"))))
        ) { handlers, call, device in
            try await handlers.orders.all(of: device, for: call.viewer, now: call.wall)
        }
        Endpoint(
            .post, "/v1/devices/{device}/commands", for: .admins,
            Description(
                "order", "Orders a command.", body: .json(Schema.ref("Order")),
                .created("The command is queued.", Schema.ref("Command")))
        ) { handlers, call, device in
            try await handlers.orders.add(for: device, call.request, by: call.identity.name, now: call.wall)
        }
        Endpoint(
            .delete, "/v1/devices/{device}/commands/{command}", for: .admins,
            Description(
                "withdraw", "Takes a command back.", .done("It is not offered any more."))
        ) { handlers, call, device, command in
            try await handlers.orders.withdraw(command, of: device, now: call.wall)
        }
        Endpoint(
            .get, "/v1/devices/{device}/links", for: .admins,
            Description(
                "links", "Links that show where the device is.",
                .ok(
                    "The newest first, without their secrets.",
                    Schema.list(
                        "links",
                        of: #"""
                            {"type":"object","required":["id","created","expires","author"],
                            "properties":{"id":{"type":"integer"},"created":\#(Schema.time),
                            "expires":\#(Schema.time),"author":{"type":"string"}}}
                            """#)))
        ) { handlers, call, device in
            try await handlers.sharing.links(of: device, for: call.viewer, now: call.wall)
        }
        Endpoint(
            .post, "/v1/devices/{device}/links", for: .admins,
            Description(
                "addLink", "Makes a link that shows where the device is, from now on.",
                body: .json(
                    #"""
                    {"type":"object","required":["hours"],"properties":{"hours":{"type":"integer",
                    "minimum":1,"maximum":72}}}
                    """#),
                .created(
                    "The link, shown this once; the secret is behind the #.",
                    #"""
                    {"type":"object","required":["id","created","expires","author"],
                    "properties":{"id":{"type":"integer"},"created":\#(Schema.time),
                    "expires":\#(Schema.time),"author":{"type":"string"},"path":{"type":"string"}}}
                    """#))
        ) { handlers, call, device in
            try await handlers.sharing.add(to: device, call.request, by: call.identity.name, now: call.wall)
        }
        Endpoint(
            .delete, "/v1/devices/{device}/links/{link}", for: .admins,
            Description(
                "removeLink", "Ends a link.", .done("It shows nothing any more."))
        ) { handlers, _, device, link in try await handlers.sharing.remove(link, of: device) }
        Endpoint(
            .get, "/v1/shared", for: .guests,
            Description(
                "shared", "Where the device of a link is.",
                .ok(
                    "Its newest location since the link was made, if there is one.",
                    #"""
                    {"type":"object","required":["name","since","expires"],
                    "properties":{"name":{"type":"string"},"since":\#(Schema.time),
                    "expires":\#(Schema.time),"latest":{"type":"object","required":["timestamp",
                    "latitude","longitude"]}}}
                    """#))
        ) { handlers, call in try await handlers.sharing.place(of: call.link) }
    }

    static var schemas: KeyValuePairs<String, String> {
        [
            "Device":
                #"""
            {"type":"object","required":["id","name","created"],
            "properties":{"id":{"type":"integer"},"name":{"type":"string"},
            "created":\#(Schema.time),"plate":{"type":"string"},"note":{"type":"string"},
            "group":{"type":"string"},"revoked":\#(Schema.time),"seen":\#(Schema.time),
            "other_installation":{"type":"string",
            "description":"The newest installation that shows its tokens and is not the device."},
            "token_shown_again":{"type":"string","format":"date-time",
            "description":"When a refresh token that had ended long before was shown: copied, restored from a backup, or stolen."},
            "install_id":{"type":"string"},"platform":{"type":"string"},
            "sdk_version":{"type":"string"},"model":{"type":"string"},
            "status":{"type":"object"},"status_received":\#(Schema.time),
            "latest":\#(Schema.ref("Location"))}}
            """#,
            "Tokens":
                #"""
            {"type":"object","required":["id","name","access_token","expires_at",
            "refresh_token"],"properties":{"id":{"type":"integer"},"name":{"type":"string"},
            "access_token":{"type":"string"},"expires_at":\#(Schema.time),
            "refresh_token":{"type":"string"},"heartbeat_seconds":{"type":"integer"},
            "verify_key":{"type":"string",
            "description":"PEM: the public key that signs commands, when a vehicle enrols"}}}
            """#,
            "Command":
                #"""
            {"type":"object","required":["id","command","state","created","expires","author",
            "arguments"],"properties":{"id":{"type":"string"},"command":{"type":"string"},
            "state":{"enum":["waiting","offered","finished","expired","withdrawn"]},
            "created":\#(Schema.time),"expires":\#(Schema.time),"author":{"type":"string"},
            "arguments":{"type":"object"},"offered":\#(Schema.time),"finished":\#(Schema.time),
            "result":{"type":"object"}}}
            """#,
            "Order":
                #"""
            {"type":"object","required":["command"],"additionalProperties":false,
            "properties":{"command":\#(Schema.word(of: CommandOrder.names.map(\.description))),
            "arguments":{"type":"object"},"expires_in":{"type":"number","minimum":60,
            "maximum":2592000}}}
            """#,
        ]
    }
}
