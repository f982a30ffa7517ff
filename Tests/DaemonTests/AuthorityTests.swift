import Base
import ControlProtocol
import DaemonConfiguration
import Storage
import Testing
import Tracking

@testable import Daemon

@Suite("who may ask for what")
struct AuthorityTests {
    private typealias Origin = Command.Origin

    private static let everybody: Set<Origin> = [.root, .daemonUser, .admin, .member]
    private static let admins: Set<Origin> = [.root, .daemonUser, .admin]

    /// Methods that are for administrators alone; all others are for everybody who may connect.
    private static let guarded: Set<String> = [
        "DeleteLocations", "PurgeRejected", "Resend", "BackfillDestination", "ForgetDestination", "Rebatch",
        "SeedAuth", "SetOdometer",
    ]

    /// Whether a server may give it.
    private static func isForServers(_ command: Command) -> Bool {
        switch command {
        case .start, .stop, .sync, .addGeofences, .removeGeofences, .removeAllGeofences, .locate, .setMotion,
            .configure, .resetConfig:
            true
        case .delete, .purgeRejected, .resend, .backfill, .forgetDestination, .rebatch, .syncEach, .seedAuth,
            .setOdometer, .requeueRejected, .setExtras, .listGeofences, .resetServerConfig, .setIgnition,
            .reload:
            false
        }
    }

    private static func commands() throws -> [Command] {
        [
            .start, .stop, .delete(before: nil), .delete(before: start), .requeueRejected(of: .main),
            .purgeRejected(of: .main),
            .resend(Resend(from: start, to: nil)), .backfill(Backfill(of: .main, from: nil)),
            .forgetDestination(.main), .rebatch(of: .main), .sync(nil, isAwaited: true),
            .sync(.main, isAwaited: false), .syncEach(isAwaited: true),
            .seedAuth(try .init(access: "a", refresh: nil, expiresAt: nil), of: .main),
            .setExtras(try .init([:])), .setOdometer(try .init(7)),
            .addGeofences([]), .removeGeofences([]), .removeAllGeofences,
            .listGeofences(after: nil, limit: 1),
            .locate(try .init(timeout: nil, maxAge: nil, accuracy: nil)), .setMotion(try .init(.moving)),
            .setIgnition(true), .configure([:]), .resetConfig([]), .resetServerConfig(nil),
            .resetServerConfig(["sync.url"]),
            .reload,
        ]
    }

    @Test("every method of every caller")
    func methods() {
        let described = [InterfaceDescription.tracker, .service].flatMap { interface in
            interface.methods.map { "\(interface.name).\($0)" }
        }
        #expect(Methods.all.map(\.name).sorted() == described.sorted(), "each is served, once")
        for method in Methods.all {
            let member = String(method.name.split(separator: ".").last ?? "")
            let expected = Self.guarded.contains(member) ? Self.admins : Self.everybody
            let granted = Origin.allCases.filter {
                Authority.decide(method.audience, for: $0) == .granted
            }
            #expect(Set(granted) == expected, "\(member)")
        }
        let names = Set(Methods.all.compactMap { $0.name.split(separator: ".").last.map(String.init) })
        #expect(Self.guarded.isSubset(of: names))
    }

    @Test("every command of a server, and of a signal")
    func commands() throws {
        for command in try Self.commands() {
            let granted = Origin.allCases.filter { Authority.decide(command, for: $0) == .granted }
            var expected = Self.everybody
            if Self.isForServers(command) { expected.insert(.server) }
            if case .reload = command { expected.insert(.signal) }
            #expect(Set(granted) == expected, "\(command)")
        }
    }

    @Test(
        "a setting has rights of its own, and what is none is not refused for them",
        arguments: [
            (name: "tracking.interval_seconds", set: true, reset: true),
            (name: "extras.vehicle", set: true, reset: true), (name: "sync.url", set: false, reset: false),
            (name: "gpsd.host", set: false, reset: false),
            (name: "destination.home.interval_seconds", set: true, reset: true),
            (name: "destination.home.batch_size", set: true, reset: true),
            (name: "destination.home.sync_threshold", set: true, reset: true),
            (name: "destination.home.url", set: false, reset: false),
            (name: "destination.home.deliver", set: false, reset: false),
            (name: "destination.home.headers.X", set: false, reset: false),
            (name: "destination.home.auth.skew_margin_seconds", set: false, reset: false),
            (name: "destination.home.future", set: true, reset: false),
            (name: "tracking.future", set: true, reset: true), (name: "future", set: true, reset: false),
        ])
    func settings(name: String, set: Bool, reset: Bool) {
        let offers = [
            "tracking.distance_meters": ProposedValue.value(.integer(1)), name: .value(.integer(1)),
        ]
        let names = ["tracking.distance_meters", name]
        for origin in Self.admins {
            #expect(Authority.decide(.configure(offers), for: origin) == .granted)
            #expect(Authority.decide(.resetConfig(names), for: origin) == .granted)
        }
        for origin in [Origin.member, .server] {
            #expect((Authority.decide(.configure(offers), for: origin) == .granted) == set)
            #expect((Authority.decide(.resetConfig(names), for: origin) == .granted) == reset)
        }
        #expect(Authority.decide(.configure(offers), for: .signal) == .denied)
    }

    @Test("only who can read the secrets may send them elsewhere")
    func secrets() {
        let granted = Origin.allCases.filter { Authority.decideExposingSecrets(for: $0) == .granted }
        #expect(granted == [.root, .daemonUser])
    }

    @Test(
        "what a client is, by its user and groups",
        arguments: [
            (0, [7], .root), (5, [], .daemonUser), (1000, [100, 7], .admin), (1000, [100], .member),
            (1000, [], .member),
        ] as [(uid: UInt32, groups: [UInt32], expected: Command.Origin)])
    func clients(uid: UInt32, groups: [UInt32], expected: Command.Origin) {
        #expect(Command.Origin(uid: uid, groups: groups, daemonUser: 5, adminGroup: 7) == expected)
        // Without the group nobody is a member of it.
        let other = Command.Origin(uid: uid, groups: groups, daemonUser: 5, adminGroup: nil)
        #expect(other == (expected == .admin ? .member : expected))
    }
}
