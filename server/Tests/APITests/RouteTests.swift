import Accounts
import Alerts
import Base
import ServerStore
import Testing

@testable import API

@Suite("paths and rights") struct RouteTests {
    @Test(
        "what a path names",
        arguments: [
            ("/v1/batches", .batches), ("/v1/logs", .logs), ("/v1/token", .token), ("/v1/enroll", .enroll),
            ("/v1/claims", .claims), ("/v1/claims/3", .claim(3)), ("/v1/devices", .devices),
            ("/v1/devices/17", .device(17)), ("/v1/devices/17/locations", .locations(17)),
            ("/v1/devices/17/events", .events(17)), ("/v1/devices/17/trips", .trips(17)),
            ("/v1/devices/17/log", .log(17)), ("/v1/devices/17/tokens", .tokens(17)),
            ("/v1/devices/17/commands", .commands(17)),
            ("/v1/devices/17/commands/c-5", .command(17, 5)), ("/v1/live", .stream), ("/v1/login", .login),
            ("/v1/logout", .logout), ("/v1/session", .session), ("/v1/users", .users),
            ("/v1/session/password", .ownPassword), ("/v1/session/passwords", nil),
            ("/v1/users/ada b", .user("ada b")), ("/v1/users/a%2Fb", .user("a/b")),
            ("/v1/users/a%2Fb/password", .password("a/b")), ("/v1/users/a+b%20c%25", .user("a+b c%")),
            ("/v1/users/%zz", nil), ("/v1/users/%FF", nil), ("/v1%2Fusers", nil), ("/v1/devices/1%2F7", nil),
            ("/v1/users/ada/password", .password("ada")),
            ("/v1/map/3/1/6", .tile(zoom: 3, column: 1, row: 6)), ("/v1/map/3/1", nil),
            ("/v1/map/3/x/6", nil),
            ("/v1/key", .key), ("/v1/openapi.json", .description), ("/v1/doctor", .doctor),
            ("/v1/clock", .clock), ("/v1/devices/17/installations", .installations(17)),
            ("/v1/devices/17/data", .data(17)), ("/v1/devices/17/links", .links(17)),
            ("/v1/devices/17/links/3", .link(17, 3)), ("/v1/devices/17/links/c-3", nil),
            ("/v1/events", .fleetEvents), ("/v1/alerts", .alerts), ("/v1/alerts/3", nil),
            ("/v1/rules", .rules), ("/v1/rules/3", .rule(3)), ("/v1/rules/x", nil),
            ("/v1/rules/3/test", .ruleTest(3)), ("/v1/rules/3/tests", nil),
            ("/v1/groups", .groups), ("/v1/groups/a%2Fb", .group("a/b")), ("/v1/groups/", nil),
            ("/v1/users/ada/groups", .userGroups("ada")), ("/v1/users//groups", nil), ("/v1/shared", .shared),
            ("/v1/fences", .fences), ("/v1/fences/7", .fence(7)), ("/v1/fences/7/devices", .fenceDevices(7)),
            ("/v1/devices/17/fences", .deviceFences(17)),
            ("/v1/fences/x", nil), ("/v1/fences/7/x", nil),
            ("/v1/backup", .backup), ("/metrics", .metrics), ("/metrics/", nil), ("/v1/claims/x", nil),
            ("/v1/devices/17/commands/5", nil), ("/v1/devices/17/commands/c-05", nil),
            ("/v1/devices/0/commands/c-5", nil), ("/v1/users//password", nil), ("/v1/users/a/b", nil),
            ("v1/batches", nil),
            ("/health/live", .live), ("/health/ready", .ready), ("/", nil), ("", nil), ("/v1", nil),
            ("/v1/", nil),
            ("/v1/batches/", nil), ("/v2/batches", nil), ("/v1/devices/0", nil), ("/v1/devices/-1", nil),
            ("/v1/devices/017", nil), ("/v1/devices/9223372036854775808", nil), ("/v1/devices/17/", nil),
            ("/v1/devices/17/locations/x", nil), ("/v1/users/", nil), ("//v1/batches", nil),
            ("/v1/users/" + String(repeating: "x", count: 1300), nil),
        ] as [(String, Route?)])
    func paths(path: String, route: Route?) {
        #expect(Route(path: path) == route)
    }

    @Test("who may what, cell by cell") func rights() {
        let callers: [Caller] = [.nobody, .device(1), .guest, .user(.reader), .user(.admin), .local]
        // One letter for each of them, in this order.
        let table: [(Route, Route.Method, String)] = [
            (.batches, .post, "-+----"), (.logs, .post, "-+----"), (.token, .post, "++++++"),
            (.enroll, .post, "++++++"), (.claims, .get, "----++"), (.claims, .post, "----++"),
            (.claim(1), .delete, "----++"), (.devices, .get, "---+++"), (.devices, .post, "----++"),
            (.device(1), .get, "---+++"), (.device(1), .delete, "----++"), (.locations(1), .get, "---+++"),
            (.events(1), .get, "---+++"), (.trips(1), .get, "---+++"), (.log(1), .get, "----++"),
            (.fences, .get, "---+++"), (.fences, .post, "----++"), (.fence(1), .get, "---+++"),
            (.fence(1), .put, "----++"), (.fence(1), .delete, "----++"), (.fenceDevices(1), .get, "---+++"),
            (.deviceFences(1), .get, "---+++"),
            (.fleetTrips, .get, "---+++"), (.fleetEvents, .get, "---+++"), (.alerts, .get, "---+++"),
            (.rules, .get, "----++"), (.rules, .post, "----++"), (.rule(1), .put, "----++"),
            (.rule(1), .delete, "----++"), (.ruleTest(1), .post, "----++"), (.tokens(1), .post, "----++"),
            (.commands(1), .get, "---+++"), (.commands(1), .post, "----++"),
            (.command(1, 1), .delete, "----++"),
            (.stream, .get, "---+++"), (.login, .post, "++++++"), (.logout, .post, "---+++"),
            (.session, .get, "---+++"), (.ownPassword, .put, "---+++"),
            (.users, .get, "----++"), (.users, .post, "----++"),
            (.user("a"), .delete, "----++"), (.password("a"), .put, "----++"), (.key, .get, "---+++"),
            (.tile(zoom: 1, column: 1, row: 1), .get, "---+++"),
            (.description, .get, "++++++"), (.doctor, .get, "----++"), (.backup, .post, "-----+"),
            (.clock, .get, "---+++"), (.installations(1), .get, "---+++"),
            (.installations(1), .post, "----++"),
            (.clock, .post, "----++"), (.metrics, .get, "---+++"), (.live, .get, "++++++"),
            (.ready, .get, "++++++"),
            (.device(1), .patch, "----++"), (.data(1), .delete, "----++"), (.links(1), .get, "----++"),
            (.links(1), .post, "----++"), (.link(1, 1), .delete, "----++"), (.groups, .get, "----++"),
            (.groups, .post, "----++"), (.group("a"), .delete, "----++"),
            (.userGroups("a"), .put, "----++"), (.shared, .get, "--+---"),
        ]
        for (route, method, expected) in table {
            #expect(route.methods.contains(method))
            #expect(
                callers.map { $0.may(method, route) ? "+" : "-" }.joined() == expected, "\(method) \(route)")
        }
        // Every method of every route is a row, and each is described.
        let all = sequence(first: Route.batches, next: \.next).flatMap { route in
            route.methods.map { "\($0) \(route.template)" }
        }
        let rows = table.map { "\($0.1) \($0.0.template)" }
        #expect(Set(rows).count == rows.count && Set(rows) == Set(all))
        for (route, _, _) in table {
            #expect(
                Description.text.replacing("\n", with: "").contains("\"\(route.template)\":{"), "\(route)")
        }
    }

    @Test("a reader of some groups may what a reader may, with the vehicles that it sees") func limited() {
        for route in sequence(first: Route.batches, next: \.next) {
            for method in route.methods {
                #expect(
                    Caller.user(.limitedReader).may(method, route) == Caller.user(.reader).may(method, route))
            }
        }
    }

    @Test("what a page of another site must not do needs the companion of the session") func companions() {
        #expect(Caller.needsCompanion(.post, .devices) && Caller.needsCompanion(.delete, .device(1)))
        #expect(Caller.needsCompanion(.put, .ownPassword))
        #expect(Caller.needsCompanion(.put, .password("a")) && Caller.needsCompanion(.post, .logout))
        #expect(!Caller.needsCompanion(.get, .devices) && !Caller.needsCompanion(.post, .login))
    }
}

extension Route {
    /// The one behind it, each once: a switch, so that a new one has to have its place.
    fileprivate var next: Route? {
        switch self {
        case .batches: .logs
        case .logs: .token
        case .token: .enroll
        case .enroll: .claims
        case .claims: .claim(1)
        case .claim: .devices
        case .devices: .device(1)
        case .device: .locations(1)
        case .locations: .events(1)
        case .events: .trips(1)
        case .trips: .fleetTrips
        case .fleetTrips: .fleetEvents
        case .fleetEvents: .alerts
        case .alerts: .rules
        case .rules: .rule(1)
        case .rule: .ruleTest(1)
        case .ruleTest: .fences
        case .fences: .fence(1)
        case .fence: .fenceDevices(1)
        case .fenceDevices: .deviceFences(1)
        case .deviceFences: .log(1)
        case .log: .tokens(1)
        case .tokens: .installations(1)
        case .installations: .data(1)
        case .data: .links(1)
        case .links: .link(1, 1)
        case .link: .commands(1)
        case .commands: .command(1, 1)
        case .command: .stream
        case .stream: .tile(zoom: 1, column: 1, row: 1)
        case .tile: .login
        case .login: .logout
        case .logout: .session
        case .session: .ownPassword
        case .ownPassword: .users
        case .users: .user("a")
        case .user: .password("a")
        case .password: .userGroups("a")
        case .userGroups: .groups
        case .groups: .group("a")
        case .group: .shared
        case .shared: .key
        case .key: .description
        case .description: .clock
        case .clock: .doctor
        case .doctor: .backup
        case .backup: .metrics
        case .metrics: .live
        case .live: .ready
        case .ready: nil
        }
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
