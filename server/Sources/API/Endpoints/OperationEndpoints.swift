internal import HTTPTypes
internal import Hummingbird

/// What operators and their programs ask of the server itself.
enum OperationEndpoints: EndpointGroup {
    static var endpoints: [Endpoint] {
        Endpoint(
            .get, "/v1/key", for: .readers,
            Description(
                "key", "The public key that signs commands (PEM).",
                .ok("For verify_keys.", as: "application/x-pem-file"))
        ) { handlers, _ in try handlers.orders.key() }
        Endpoint(
            .get, "/v1/clock", for: .readers,
            Description(
                "clock", "The server's clock, and the time by which stored data expires.",
                problems: [400, 401, 403, 405, 503], .ok("Both.", Schema.ref("Clock")))
        ) { handlers, call in try await handlers.clock.answer(call.now) }
        Endpoint(
            .post, "/v1/clock", for: .admins,
            Description(
                "confirmClock", "Says that the clock is right.", problems: [400, 401, 403, 405, 503],
                .ok("Both, after that.", Schema.ref("Clock")))
        ) { handlers, _ in try await handlers.clock.confirm() }
        Endpoint(
            .get, "/v1/doctor", for: .admins,
            Description(
                "doctor", "Facts about the database.", .ok("Facts.", Schema.anyObject))
        ) { handlers, call in try await handlers.operation.facts(now: call.now) }
        // It writes a file where it is told to.
        Endpoint(
            .post, "/v1/backup", for: .local,
            Description(
                "backup", "Copies the database; through the local socket alone.",
                body: .json(
                    #"""
                    {"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}
                    """#),
                .done("The copy is complete."))
        ) { handlers, call in try await handlers.operation.backup(call.request) }
        Endpoint(
            .get, "/metrics", for: .readers,
            Description(
                "metrics", "For Prometheus.",
                query: [
                    .named(
                        "device", "Only of this device. Of more than 10,000, there are sums without it.",
                        #"{"type":"integer","format":"int64","minimum":1}"#)
                ],
                .ok("Text.", as: "text/plain"))
        ) { handlers, call in try await handlers.metrics.answer(for: call.viewer, call.query, call.now) }
        Endpoint(
            .get, "/v1/openapi.json", for: .anybody,
            Description(
                "description", "This document.", .ok("OpenAPI 3.1.", Schema.anyObject))
        ) { _, _ in OpenAPI.response }
        Endpoint(
            .get, "/health/live", for: .anybody,
            Description(
                "healthLive", "The process answers.", .done("It does."))
        ) { _, _ in Response(status: .noContent) }
        Endpoint(
            .get, "/health/ready", for: .anybody,
            Description(
                "healthReady", "Its database answers, and is whole.", problems: [405, 503],
                .ok("It does.", Schema.anyObject))
        ) { handlers, _ in try await handlers.reader.ready() }
    }

    static var schemas: KeyValuePairs<String, String> {
        [
            "Clock":
                #"""
            {"type":"object","required":["time","confirmed","is_ahead"],
            "properties":{"time":\#(Schema.time),"confirmed":\#(Schema.time),
            "is_ahead":{"type":"boolean"}}}
            """#
        ]
    }
}
