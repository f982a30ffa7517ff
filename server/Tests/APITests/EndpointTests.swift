import Accounts
import Alerts
import Base
import ServerStore
import Testing

@testable import API

@Suite("paths and rights") struct EndpointTests {
    /// What a path names, and what stands in it in place of the words in braces; nil: nothing.
    private func named(_ path: String) -> String? {
        guard let (resource, values) = Endpoints.tree.resource(at: path),
            resource.endpoints[0].action(values) != nil
        else { return nil }
        return ([resource.template] + values.map { String($0) }).joined(separator: " | ")
    }

    @Test(
        "paths that stand for themselves",
        arguments: [
            "/v1/batches", "/v1/logs", "/v1/token", "/v1/enroll", "/v1/claims", "/v1/devices",
            "/v1/live", "/v1/login", "/v1/logout", "/v1/session", "/v1/users",
            "/v1/session/password", "/v1/key", "/v1/openapi.json", "/v1/doctor", "/v1/clock",
            "/v1/events", "/v1/alerts", "/v1/rules", "/v1/groups", "/v1/shared", "/v1/fences",
            "/v1/trips", "/v1/backup", "/metrics", "/health/live", "/health/ready",
        ])
    func plain(path: String) {
        #expect(named(path) == path)
    }

    @Test(
        "what a path names",
        arguments: [
            ("/v1/claims/3", "/v1/claims/{claim} | 3"),
            ("/v1/devices/17", "/v1/devices/{device} | 17"),
            ("/v1/devices/17/locations", "/v1/devices/{device}/locations | 17"),
            ("/v1/devices/17/events", "/v1/devices/{device}/events | 17"),
            ("/v1/devices/17/trips", "/v1/devices/{device}/trips | 17"),
            ("/v1/devices/17/log", "/v1/devices/{device}/log | 17"),
            ("/v1/devices/17/tokens", "/v1/devices/{device}/tokens | 17"),
            ("/v1/devices/17/commands", "/v1/devices/{device}/commands | 17"),
            ("/v1/devices/17/commands/c-5", "/v1/devices/{device}/commands/{command} | 17 | c-5"),
            ("/v1/session/passwords", nil), ("/v1/users/ada b", "/v1/users/{name} | ada b"),
            ("/v1/users/a%2Fb", "/v1/users/{name} | a/b"),
            ("/v1/users/a%2Fb/password", "/v1/users/{name}/password | a/b"),
            ("/v1/users/a+b%20c%25", "/v1/users/{name} | a+b c%"), ("/v1/users/%zz", nil),
            ("/v1/users/%FF", nil), ("/v1%2Fusers", nil), ("/v1/devices/1%2F7", nil),
            ("/v1/users/ada/password", "/v1/users/{name}/password | ada"),
            ("/v1/map/3/1/6", "/v1/map/{zoom}/{column}/{row} | 3 | 1 | 6"), ("/v1/map/3/1", nil),
            ("/v1/map/3/x/6", nil),
            ("/v1/devices/17/installations", "/v1/devices/{device}/installations | 17"),
            ("/v1/devices/17/data", "/v1/devices/{device}/data | 17"),
            ("/v1/devices/17/links", "/v1/devices/{device}/links | 17"),
            ("/v1/devices/17/links/3", "/v1/devices/{device}/links/{link} | 17 | 3"),
            ("/v1/devices/17/links/c-3", nil), ("/v1/alerts/3", nil),
            ("/v1/rules/3", "/v1/rules/{rule} | 3"), ("/v1/rules/x", nil),
            ("/v1/rules/3/test", "/v1/rules/{rule}/test | 3"), ("/v1/rules/3/tests", nil),
            ("/v1/groups/a%2Fb", "/v1/groups/{name} | a/b"), ("/v1/groups/", nil),
            ("/v1/users/ada/groups", "/v1/users/{name}/groups | ada"), ("/v1/users//groups", nil),
            ("/v1/fences/7", "/v1/fences/{fence} | 7"),
            ("/v1/fences/7/devices", "/v1/fences/{fence}/devices | 7"),
            ("/v1/devices/17/fences", "/v1/devices/{device}/fences | 17"), ("/v1/fences/x", nil),
            ("/v1/fences/7/x", nil), ("/metrics/", nil), ("/v1/claims/x", nil),
            ("/v1/devices/17/commands/5", nil), ("/v1/devices/17/commands/c-05", nil),
            ("/v1/devices/0/commands/c-5", nil), ("/v1/users//password", nil),
            ("/v1/users/a/b", nil), ("v1/batches", nil), ("/", nil), ("", nil), ("/v1", nil),
            ("/v1/", nil), ("/v1/batches/", nil), ("/v2/batches", nil), ("/v1/devices/0", nil),
            ("/v1/devices/-1", nil), ("/v1/devices/017", nil),
            ("/v1/devices/9223372036854775808", nil), ("/v1/devices/17/", nil),
            ("/v1/devices/17/locations/x", nil), ("/v1/users/", nil), ("//v1/batches", nil),
            ("/v1/%6Bey", "/v1/key"), ("/v1/map/+3/1/6", "/v1/map/{zoom}/{column}/{row} | +3 | 1 | 6"),
            ("/v1/devices/+17", nil), ("/v1/users/" + String(repeating: "x", count: 1300), nil),
        ] as [(String, String?)])
    func paths(path: String, name: String?) {
        #expect(named(path) == name)
    }

    @Test(
        "a method that a path does not have",
        arguments: [
            ("DELETE", "/v1/devices", "GET, POST"), ("PUT", "/v1/devices/17", "GET, PATCH, DELETE"),
            ("POST", "/v1/fences/7", "GET, PUT, DELETE"), ("GET", "/v1/rules/3", "PUT, DELETE"),
            ("HEAD", "/v1/key", "GET"), ("get", "/v1/key", "GET"), ("", "/v1/batches", "POST"),
            ("PUT", "/v1/devices/x", nil), ("PUT", "/v1/nothing", nil),
        ] as [(String, String, String?)])
    func methods(method: String, path: String, allow: String?) {
        switch Endpoints.tree.match(method, path) {
        case .nothing: #expect(allow == nil)
        case .otherMethods(let resource): #expect(resource.allow == allow)
        case .endpoint(let endpoint, _): Issue.record("\(endpoint.method) \(endpoint.template)")
        }
    }

    private func find(_ method: Endpoint.Method, _ path: String) -> Endpoint? {
        guard case .endpoint(let endpoint, _) = Endpoints.tree.match(method.rawValue, path) else {
            return nil
        }
        return endpoint
    }

    /// A second opinion: it is written down here, and not made of what it judges.
    @Test("who may what, cell by cell") func rights() throws {
        let callers: [Caller] = [.nobody, .device(1), .guest, .user(.reader), .user(.admin), .local]
        // One letter for each of them, in this order.
        let table: [(Endpoint.Method, String, String)] = [
            (.post, "/v1/batches", "-+----"), (.post, "/v1/logs", "-+----"),
            (.post, "/v1/token", "++++++"), (.post, "/v1/enroll", "++++++"),
            (.get, "/v1/claims", "----++"), (.post, "/v1/claims", "----++"),
            (.delete, "/v1/claims/1", "----++"), (.get, "/v1/devices", "---+++"),
            (.post, "/v1/devices", "----++"), (.get, "/v1/devices/1", "---+++"),
            (.delete, "/v1/devices/1", "----++"), (.get, "/v1/devices/1/locations", "---+++"),
            (.get, "/v1/devices/1/events", "---+++"), (.get, "/v1/devices/1/trips", "---+++"),
            (.get, "/v1/devices/1/log", "----++"), (.get, "/v1/fences", "---+++"),
            (.post, "/v1/fences", "----++"), (.get, "/v1/fences/1", "---+++"),
            (.put, "/v1/fences/1", "----++"), (.delete, "/v1/fences/1", "----++"),
            (.get, "/v1/fences/1/devices", "---+++"), (.get, "/v1/devices/1/fences", "---+++"),
            (.get, "/v1/trips", "---+++"), (.get, "/v1/events", "---+++"),
            (.get, "/v1/alerts", "---+++"), (.get, "/v1/rules", "----++"),
            (.post, "/v1/rules", "----++"), (.put, "/v1/rules/1", "----++"),
            (.delete, "/v1/rules/1", "----++"), (.post, "/v1/rules/1/test", "----++"),
            (.post, "/v1/devices/1/tokens", "----++"), (.get, "/v1/devices/1/commands", "---+++"),
            (.post, "/v1/devices/1/commands", "----++"),
            (.delete, "/v1/devices/1/commands/c-1", "----++"), (.get, "/v1/live", "---+++"),
            (.post, "/v1/login", "++++++"), (.post, "/v1/logout", "---+++"),
            (.get, "/v1/session", "---+++"), (.put, "/v1/session/password", "---+++"),
            (.get, "/v1/users", "----++"), (.post, "/v1/users", "----++"),
            (.delete, "/v1/users/a", "----++"), (.put, "/v1/users/a/password", "----++"),
            (.get, "/v1/key", "---+++"), (.get, "/v1/map/1/1/1", "---+++"),
            (.get, "/v1/openapi.json", "++++++"), (.get, "/v1/doctor", "----++"),
            (.post, "/v1/backup", "-----+"), (.get, "/v1/clock", "---+++"),
            (.get, "/v1/devices/1/installations", "---+++"),
            (.post, "/v1/devices/1/installations", "----++"), (.post, "/v1/clock", "----++"),
            (.get, "/metrics", "---+++"), (.get, "/health/live", "++++++"),
            (.get, "/health/ready", "++++++"), (.patch, "/v1/devices/1", "----++"),
            (.delete, "/v1/devices/1/data", "----++"), (.get, "/v1/devices/1/links", "----++"),
            (.post, "/v1/devices/1/links", "----++"), (.delete, "/v1/devices/1/links/1", "----++"),
            (.get, "/v1/groups", "----++"), (.post, "/v1/groups", "----++"),
            (.delete, "/v1/groups/a", "----++"), (.put, "/v1/users/a/groups", "----++"),
            (.get, "/v1/shared", "--+---"),
        ]
        var rows: [String] = []
        for (method, path, expected) in table {
            let endpoint = try #require(find(method, path), "\(method) \(path)")
            #expect(
                callers.map { endpoint.audience.admits($0) ? "+" : "-" }.joined() == expected,
                "\(method) \(path)")
            rows.append("\(method) \(endpoint.template)")
        }
        // Every endpoint is a row.
        let all = Endpoints.all.map { "\($0.method) \($0.template)" }
        #expect(Set(rows).count == rows.count && rows.count == all.count && Set(rows) == Set(all))
    }

    @Test("a reader of some groups may what a reader may, with the vehicles that it sees") func limited() {
        for endpoint in Endpoints.all {
            let audience = endpoint.audience
            #expect(
                audience.admits(.user(.limitedReader)) == audience.admits(.user(.reader)),
                "\(endpoint.template)")
        }
    }

    @Test(
        "what a page of another site must not do needs the companion of the session",
        arguments: [
            (.post, "/v1/devices", true), (.delete, "/v1/devices/1", true), (.patch, "/v1/devices/1", true),
            (.put, "/v1/session/password", true), (.put, "/v1/users/a/password", true),
            (.post, "/v1/logout", true), (.post, "/v1/backup", true), (.get, "/v1/devices", false),
            (.post, "/v1/login", false), (.post, "/v1/token", false), (.post, "/v1/enroll", false),
            (.post, "/v1/batches", false), (.post, "/v1/logs", false), (.get, "/v1/shared", false),
        ] as [(Endpoint.Method, String, Bool)])
    func companions(method: Endpoint.Method, path: String, isNeeded: Bool) throws {
        #expect(try #require(find(method, path)).needsCompanion == isNeeded)
    }

    @Test(
        "after what may vehicles have other fences",
        arguments: [
            (.post, "/v1/fences", true), (.put, "/v1/fences/7", true), (.delete, "/v1/fences/7", true),
            (.patch, "/v1/devices/1", true), (.delete, "/v1/devices/1/data", true),
            (.delete, "/v1/groups/a", true), (.post, "/v1/rules", true), (.get, "/v1/fences", false),
            (.post, "/v1/batches", false), (.post, "/v1/logs", false), (.post, "/v1/enroll", false),
            (.post, "/v1/logout", false), (.put, "/v1/session/password", false),
        ] as [(Endpoint.Method, String, Bool)])
    func fleet(method: Endpoint.Method, path: String, changes: Bool) throws {
        #expect(try #require(find(method, path)).changesFleet == changes)
    }

    @Test("what few endpoints do otherwise") func traits() {
        let odd = Endpoints.all.filter { !$0.traits.isEmpty }.map { "\($0.template) \($0.traits.rawValue)" }
        #expect(odd == ["/v1/batches 1", "/v1/live 2"])
    }
}

@Suite("queries of the fleet") struct FleetQueryTests {
    @Test("a cursor names the place behind which the next page begins") func cursor() throws {
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"))
        let time = Timestamp(milliseconds: 1_781_524_800_000)
        let query = try FleetQuery("before=\(FleetQuery.cursor(time, id))&limit=7", hasRule: false)
        #expect(query.place?.time == time && query.place?.id == id && query.limit == 7)
    }

    @Test(
        "what is refused",
        arguments: [
            "limit=0", "limit=1001", "before=x", "before=1.x", "before=.", "device=0", "device=x", "kind=",
            "group=", "rule=1", "x=1",
        ]) func refusals(text: String)
    {
        #expect(throws: Problem.self) { try FleetQuery(text[...], hasRule: false) }
    }
}

@Suite("addresses of rules") struct AddressTests {
    @Test(
        "a webhook that may be asked for",
        arguments: [
            "https://example.org", "http://example.org:8080/a/b?c=d", "https://[::1]/x",
            "http://10.0.0.7/hook",
            "HTTPS://hooks.example.org/T0/%20x",
        ]) func webhooks(text: String)
    {
        #expect(WebhookAddress.complaint(about: text) == nil)
    }

    @Test(
        "a webhook that may not",
        arguments: [
            "ftp://example.org", "example.org", "https://", "https:///x", "https://a b",
            "https://ada:x@example.org",
            "https://example.org/\r\nHost: x", "https://example.org:0/", "https://example.org:65536/",
            "https://example.org:x/", "https://example.org/#x", "file:///etc/passwd", "https://ex_ample.org",
            "https://example.org/é", "https://[::1]x/", "https://[]/",
            "https://example.org/" + String(repeating: "x", count: 2000),
        ]) func noWebhooks(text: String)
    {
        #expect(WebhookAddress.complaint(about: text) != nil)
    }

    @Test("of a webhook, scheme and host are shown") func shown() {
        #expect(WebhookAddress.shown("https://example.org/T0/secret") == "https://example.org/…")
        #expect(WebhookAddress.shown("http://example.org:81") == "http://example.org:81")
        #expect(WebhookAddress.shown("http://example.org?key=secret") == "http://example.org/…")
    }

    @Test(
        "addresses of mail",
        arguments: [
            ("ada@example.org", true), ("a.d+fleet@mail.example.org", true), ("ada@localhost", true),
            ("ada", false), ("@example.org", false), ("ada@", false), ("a@b@c", false),
            ("ada@example.org\r\nBcc: x", false),
            ("ada@example.org\n", false), ("a b@example.org", false), ("ada@exa mple.org", false),
            ("a..b@example.org", false),
            ("ada@-example.org", false), ("ada,b@example.org", false), ("<ada@example.org>", false),
            ("ada@example..org", false),
            ("\"a\"@example.org", false), ("ad\u{e4}@example.org", false), ("", false),
        ]) func mail(text: String, isGood: Bool)
    {
        #expect((MailAddress(text) != nil) == isGood)
    }
}

@Suite("queries and forms") struct QueryTests {
    @Test("a query without anything asks for all, as JSON") func everything() throws {
        let query = try LocationQuery(nil)
        #expect(query.limit == nil && query.format == .json && query.range.lowerBound.milliseconds == 0)
    }

    @Test(
        "what is asked for",
        arguments: [
            ("from=2026-06-15T12:00:00Z", 1_781_524_800_000),
            ("from=2026-06-15T14:00:00+02:00", 1_781_524_800_000),
            ("from=2026-06-15T14%3A00%3A00%2B02%3A00", 1_781_524_800_000),
        ]) func times(text: String, milliseconds: Int64) throws
    {
        #expect(try LocationQuery(text[...]).range.lowerBound.milliseconds == milliseconds)
    }

    @Test(
        "what is refused",
        arguments: [
            "from", "from=", "from=yesterday", "to=2026", "limit=0", "limit=-1", "limit=x", "limit=1000001",
            "format=kml",
            "x=1", "from=%zz", "from=2026-06-15T12:00:00Z&to=2026-06-15T11:59:59Z",
        ]) func refusals(text: String)
    {
        #expect(throws: Problem.self) { try LocationQuery(text[...]) }
    }

    @Test(
        "escapes",
        arguments: [
            ("a%20b", "a b"), ("a+b", "a b"), ("%C3%A9", "é"), ("%", nil), ("%4", nil), ("%+1", nil),
            ("%FF", nil),
        ])
    func escapes(text: String, expected: String?) {
        #expect(Fields.decoded(text[...]) == expected)
    }
}
