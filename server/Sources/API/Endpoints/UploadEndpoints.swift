internal import Accounts
internal import EnvelopeReader

/// What vehicles ask for, and how they become devices.
enum UploadEndpoints: EndpointGroup {
    static var endpoints: [Endpoint] {
        Endpoint(
            .post, "/v1/batches", for: .devices, traits: .notesUse,
            Description(
                "upload",
                "Stores a batch of locations (etc/envelope.schema.json). Answered when it can no longer be lost.",
                body: .json(Schema.anyObject),
                .ok(
                    "Stored, or known already.",
                    #"""
                    {"type":"object","required":["batch_id","stored","duplicates","expired"],
                    "properties":{"batch_id":{"type":"string"},"stored":{"type":"integer"},
                    "duplicates":{"type":"integer"},"expired":{"type":"integer"},
                    "commands":{"type":"array"},"signed":{"type":"string"},
                    "signature":{"type":"string"}}}
                    """#))
        ) { handlers, call in
            try await handlers.ingest.answer(call.request, from: call.device, call.identity, now: call.now)
        }
        Endpoint(
            .post, "/v1/logs", for: .devices,
            Description(
                "uploadLog", "Takes the log of a vehicle.", body: .text, .done("Kept."))
        ) { handlers, call in
            try await handlers.logs.add(call.request, from: call.device, call.identity, now: call.wall)
        }
        // Who shows a refresh token, a claim code or a password needs nothing else.
        Endpoint(
            .post, "/v1/token", for: .anybody,
            Description(
                "exchangeToken", "Exchanges a refresh token (RFC 6749, section 6).",
                body: .jsonOrForm(
                    #"""
                    {"type":"object","required":["grant_type","refresh_token"],
                    "properties":{"grant_type":{"const":"refresh_token"},
                    "refresh_token":{"type":"string"}}}
                    """#),
                problems: [405, 413, 503],
                .ok(
                    "The next pair.",
                    #"""
                    {"type":"object","required":["access_token","token_type","expires_in",
                    "refresh_token"]}
                    """#),
                .status(
                    400, "Refused.",
                    content: #"""
                        "application/json":{"schema":{"type":"object","properties":{"error":{"type":"string"},
                        "error_description":{"type":"string"}}}},
                        "application/problem+json":{"schema":\#(Schema.ref("Problem"))}
                        """#))
        ) { handlers, call in try await handlers.exchange.answer(call.request, now: call.wall) }
        Endpoint(
            .post, "/v1/enroll", for: .anybody,
            Description(
                "enroll", "Makes a device with a claim code.",
                body: .jsonOrForm(
                    #"""
                    {"type":"object","required":["code","name"],
                    "properties":{"code":{"type":"string"},"name":\#(Schema.ref("Name")),
                    "nonce":\#(Schema.ref("Nonce"))}}
                    """#),
                problems: [400, 403, 405, 409, 413, 503], .tokens("The device."))
        ) { handlers, call in try await handlers.enrolment.enroll(call.request, now: call.wall) }
        Endpoint(
            .get, "/v1/claims", for: .admins,
            Description(
                "claims", "Claim codes that are left.",
                .ok("All.", Schema.list("claims", of: Schema.anyObject)))
        ) { handlers, _ in try await handlers.enrolment.all() }
        Endpoint(
            .post, "/v1/claims", for: .admins,
            Description(
                "addClaim", "Makes a claim code.",
                body: .json(
                    #"""
                    {"type":"object","properties":{
                    "uses":{"type":"integer","minimum":1,"maximum":1000000},
                    "days":{"type":"integer","minimum":1,"maximum":366},
                    "allow":\#(Schema.allOr(CommandOrder.names.map(\.description))),
                    "settings":\#(Schema.allOr(CommandRights.tunable))}}
                    """#),
                .created("The code, shown only once.", #"{"type":"object","required":["id","code"]}"#))
        ) { handlers, call in try await handlers.enrolment.add(call.request, now: call.wall) }
        Endpoint(
            .delete, "/v1/claims/{claim}", for: .admins,
            Description(
                "removeClaim", "Ends a code.", .done("The code can no longer be used."))
        ) { handlers, _, claim in try await handlers.enrolment.remove(claim) }
    }

    static var schemas: KeyValuePairs<String, String> {
        [
            "Nonce":
                #"""
            {"type":"string","pattern":"^[0-9A-Fa-f]{32}$",
            "description":"128 random bits that the vehicle made and keeps: with the same code, name and nonce it asks again when an answer was lost."}
            """#
        ]
    }
}
