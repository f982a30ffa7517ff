internal import ServerStore

/// Alerts, and the rules that make them.
enum AlertEndpoints: EndpointGroup {
    static var endpoints: [Endpoint] {
        Endpoint(
            .get, "/v1/alerts", for: .readers,
            Description(
                "alerts", "What happened that rules wait for, the newest first.",
                query: [
                    .from, .to, .device, .group,
                    .named("kind", "Of rules of this kind alone.", Schema.name),
                    .named("rule", "Of this rule alone.", Schema.id), .before, .page,
                ],
                .ok(
                    "Alerts. Without webhook and mail, one is listed only. Admins are told the reason of a failure.",
                    Schema.list(
                        "alerts",
                        of: #"""
                            {"type":"object","required":["cursor","id","rule","device","name","kind",
                            "timestamp","found","text","data"],"properties":{"cursor":{"type":"string"},
                            "id":{"type":"string"},"rule":{"type":"object","required":["id"]},
                            "device":{"type":"integer"},"name":{"type":"string"},"kind":{"type":"string"},
                            "timestamp":\#(Schema.time),"found":\#(Schema.time),"text":{"type":"string"},
                            "data":{"type":"object"},"webhook":{"enum":["waiting","sent","failed"]},
                            "mail":{"enum":["waiting","sent","failed"]},"reason":{"type":"string"}}}
                            """#)))
        ) { handlers, call in
            try await handlers.reader.alerts(
                for: call.viewer, hasReasons: Audience.admins.admits(call.identity.caller),
                FleetQuery(call.query, hasRule: true))
        }
        Endpoint(
            .get, "/v1/rules", for: .admins,
            Description(
                "rules", "What admins want to be told of, and where.",
                .ok(
                    "By name; without secrets, and of a webhook only the host.",
                    #"""
                    {"type":"object","required":["rules","mail_server"],"properties":{
                    "rules":{"type":"array","items":\#(Schema.ref("Rule"))},"mail_server":{"type":"boolean",
                    "description":"Whether the server has a mail server: without one, mails are not sent."}}}
                    """#))
        ) { handlers, _ in try await handlers.rules.all() }
        Endpoint(
            .post, "/v1/rules", for: .admins,
            Description(
                "addRule", "Makes a rule.", body: .json(Schema.ref("NewRule")),
                .created("With the secret of its webhook, shown this once.", Schema.ref("Rule")))
        ) { handlers, call in
            try await handlers.rules.add(call.request, by: call.identity.name, now: call.wall)
        }
        Endpoint(
            .put, "/v1/rules/{rule}", for: .admins,
            Description(
                "changeRule", "Replaces a rule, which begins anew; without webhook, it goes where it went.",
                body: .json(Schema.ref("NewRule")),
                .ok("With the secret, where it is new.", Schema.ref("Rule")))
        ) { handlers, call, rule in try await handlers.rules.change(rule, call.request) }
        Endpoint(
            .delete, "/v1/rules/{rule}", for: .admins,
            Description(
                "removeRule", "Ends a rule; its alerts stay listed.", .done("Ended."))
        ) { handlers, _, rule in try await handlers.rules.remove(rule) }
        Endpoint(
            .post, "/v1/rules/{rule}/test", for: .admins,
            Description(
                "testRule", "Sends to the webhook and to each address of a rule, once and at once.",
                .ok(
                    "What came of it, on each way.",
                    Schema.list(
                        "results",
                        of: #"""
                            {"type":"object","required":["channel","address","result"],
                            "properties":{"channel":{"enum":["webhook","mail"]},"address":{"type":"string"},
                            "result":{"enum":["sent","failed"]},"reason":{"type":"string"}}}
                            """#)))
        ) { handlers, _, rule in try await handlers.rules.test(rule) }
    }

    static var schemas: KeyValuePairs<String, String> {
        [
            "Rule_name":
                #"""
            {"type":"string","minLength":1,"maxLength":100,
            "pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]+$"}
            """#,
            "Rule_group": Schema.words(100),
            "Rule_device": Schema.id,
            "Rule_webhook":
                #"""
            {"type":"string",
            "pattern":"^(https?://[A-Za-z0-9]{1,63}(:[1-9][0-9]{0,3})?(/[A-Za-z0-9._~/-]{0,200})?)?$"}
            """#,
            "Rule_secret": #"{"const":"new"}"#,
            "Rule_mail":
                #"""
            {"type":"array","maxItems":10,"items":{"type":"string",
            "pattern":"^[a-z0-9]{1,64}@[a-z0-9]{1,63}$"}}
            """#,
            "Rule_mail_interval_seconds": #"{"type":"integer","minimum":60,"maximum":86400}"#,
            "NewRule":
                #"""
            {"oneOf":[
            \#(AlertCondition.Kind.allCases.map { draft(of: $0) }.joined(separator: ",\n"))]}
            """#,
            "Rule":
                #"""
            {"type":"object","required":["id","name","kind","mail","mail_interval_seconds",
            "created","author"],"properties":{"id":{"type":"integer"},"name":{"type":"string"},
            "kind":{"type":"string"},"type":{"type":"string"},"fence":{"type":"string"},
            "minutes":{"type":"integer"},"percent":{"type":"integer"},
            "kilometers_per_hour":{"type":"integer"},"group":{"type":"string"},
            "device":{"type":"integer"},"device_name":{"type":"string"},
            "webhook":{"type":"string","description":"Scheme and host."},
            "secret":{"type":"string"},"mail":{"type":"array","items":{"type":"string"}},
            "mail_interval_seconds":{"type":"integer"},"created":\#(Schema.time),
            "author":{"type":"string"}}}
            """#,
        ]
    }

    /// What is asked for where a rule is of this kind.
    private static func draft(of kind: AlertCondition.Kind) -> String {
        var properties = [#""kind":{"const":"\#(kind.rawValue)"}"#]
        if !kind.types.isEmpty { properties.append(#""type":\#(Schema.word(of: kind.types))"#) }
        if kind == .geofence { properties.append(#""fence":\#(Schema.words(100))"#) }
        if let (name, range) = kind.limit {
            properties.append(
                #""\#(name)":{"type":"integer","minimum":\#(range.lowerBound),"maximum":\#(range.upperBound)}"#
            )
        }
        properties += ["name", "group", "device", "webhook", "secret", "mail", "mail_interval_seconds"].map {
            #""\#($0)":\#(Schema.ref("Rule_" + $0))"#
        }
        let limit = kind.limit.map { #","\#($0.name)""# } ?? ""
        return #"""
            {"type":"object","required":["name","kind"\#(limit)],"properties":{
            \#(properties.joined(separator: ","))},
            "not":{"required":["group","device"]}}
            """#
    }
}
