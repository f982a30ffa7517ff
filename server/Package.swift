// swift-tools-version: 6.2
import PackageDescription

// `make check` sets this: a warning in our own targets then fails the build.
let strict = Context.environment["BEEKOND_WARNINGS_AS_ERRORS"] != nil

let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        // A debug build from nothing takes a fifth less of the processors where a module is compiled in one piece.
        .unsafeFlags(
            ["-whole-module-optimization", "-num-threads", "2", "-disable-batch-mode"],
            .when(configuration: .debug)),
    ] + (strict ? [.treatAllWarnings(as: .error)] : [])

func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func test(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: name)] + dependencies, swiftSettings: settings)
}

/// What is public in a library of beekond.
func beekond(_ name: String) -> Target.Dependency {
    .product(name: name, package: "beekond")
}

/// `make fuzz-server` sets this. Without libFuzzer, which brings its own main, it would not link.
let fuzzing: [Target] =
    Context.environment["BEEKOND_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "fuzz-server", dependencies: ["EnvelopeReader", beekond("Base")], path: "Fuzz/Sources",
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])])
    ]

let package = Package(
    name: "beekon-server",
    products: [
        .executable(name: "beekon-server", targets: ["beekon-server"])
    ],
    dependencies: [
        .package(name: "beekond", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Its defaults bring all of Foundation, with 40 MB of ICU.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CServerCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        .systemLibrary(
            name: "CServerCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CServerClock"),
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(
            name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),

        target("EnvelopeReader", [beekond("Base"), beekond("CZlib")]),
        target(
            "ServerStore",
            [
                "CPostgres", "CServerCrypto", "EnvelopeReader", beekond("Base"), beekond("Envelope"),
                beekond("SQLite"),
            ]),
        target("Accounts", ["CServerCrypto", "ServerStore", beekond("Base")]),
        target(
            "Commands", ["CServerCrypto", "EnvelopeReader", "ServerStore", beekond("Base")]),
        target(
            "Alerts",
            ["CServerCrypto", "CServerCurl", "ServerStore", beekond("Base"), beekond("Envelope")]),
        target("Forwards", ["Alerts", "CMosquitto", "CNATS", "ServerStore", beekond("Base")]),
        target(
            "Fences",
            [
                "Accounts", "EnvelopeReader", "ServerStore", beekond("Base"), beekond("Envelope"),
                beekond("Tracking"),
            ]),
        target(
            "Page",
            [
                "CServerCrypto", beekond("CZlib"), beekond("SQLite"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        target(
            "API",
            [
                "Accounts", "Alerts", "CServerClock", "Commands", "EnvelopeReader", "Fences", "Forwards",
                "Page", "ServerStore",
                beekond("Base"),
                beekond("Envelope"),
                beekond("Tracking"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "beekon-server",
            dependencies: [
                "API", "Alerts", "Commands", "Forwards", "Page", "ServerStore", beekond("Base"),
                beekond("CLinux"),
                beekond("Envelope"),
                beekond("TOML"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),

        test("EnvelopeReader", [beekond("Base"), beekond("CZlib"), beekond("Envelope")]),
        test("ServerStore", ["EnvelopeReader", beekond("Base"), beekond("SQLite")]),
        test("Accounts", ["ServerStore", beekond("Base")]),
        test("Alerts", ["ServerStore", beekond("Base")]),
        test("Forwards", ["ServerStore", beekond("Base")]),
        test("Commands", ["EnvelopeReader", "ServerStore", beekond("Base")]),
        test("Fences", ["Accounts", "EnvelopeReader", "ServerStore", beekond("Base"), beekond("Tracking")]),
        test(
            "Page",
            [
                beekond("SQLite"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        test(
            "API",
            [
                "Accounts", "Alerts", "EnvelopeReader", "ServerStore", beekond("Base"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ]),
    ] + fuzzing
)
