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

/// A library of the system, met through one shim header that holds every call of it that Swift may see.
func system(_ name: String, pkgConfig: String, package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

func target(
    _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []
) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

func test(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: name)] + dependencies, exclude: exclude,
        swiftSettings: settings)
}

/// `make fuzz` sets this. Without libFuzzer, which brings its own main, these would not link.
let fuzzing: [Target] =
    Context.environment["BEEKOND_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "Base", "ControlProtocol", "DaemonConfiguration", "Envelope", "GPSD", "Simulation", "TOML",
                "Tracking", "Upload",
            ],
            path: "Tests/Fuzz/Sources", swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])])
    ]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "beekond",
    products: [
        .executable(name: "beekond", targets: ["beekond"]),
        .executable(name: "beekonctl", targets: ["beekonctl"]),
        .executable(name: "beekon-sim", targets: ["beekon-sim"]),
        // What beekon-server builds on; another package sees only what is public in them.
        .library(name: "Base", targets: ["Base"]),
        .library(name: "CLinux", targets: ["CLinux"]),
        .library(name: "CZlib", targets: ["CZlib"]),
        .library(name: "Envelope", targets: ["Envelope"]),
        .library(name: "SQLite", targets: ["SQLite"]),
        .library(name: "TOML", targets: ["TOML"]),
        .library(name: "Tracking", targets: ["Tracking"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        system("CGPS", pkgConfig: "libgps", package: "libgps-dev"),
        system("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
        system("CCurl", pkgConfig: "libcurl", package: "libcurl4-openssl-dev"),
        system("CCrypto", pkgConfig: "libcrypto", package: "libssl-dev"),
        system("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        system("CSystemd", pkgConfig: "libsystemd", package: "libsystemd-dev"),
        .target(name: "CLinux"),

        target("Base"),
        target("Tracking", ["Base"]),
        target("Linux", ["Base", "CLinux"]),
        target("GPSD", ["Base", "CGPS", "Linux", "Tracking"]),
        target("Sensors", ["Base", "Linux", "Tracking"]),
        target("SQLite", ["CSQLite"]),
        target("TOML"),
        target("Storage", ["Base", "SQLite", "Linux", "Tracking"]),
        target("Envelope", ["Base", "CZlib", "Tracking"]),
        target(
            "Upload", ["Base", "CCrypto", "CCurl", "DaemonConfiguration", "Envelope", "Linux", "Tracking"]),
        target(
            "ControlProtocol",
            resources: ["org.beekond.Tracker", "org.varlink.service"].map { .embedInCode("\($0).varlink") }),
        target(
            "ControlTool", ["Base", "ControlProtocol"],
            resources: ["html", "css", "js"].map { .embedInCode("track.\($0)") } + [
                .embedInCode("track-charts.js")
            ]),
        // Not `Configuration`, which is swift-configuration's: names are unique over a graph of packages.
        target("DaemonConfiguration", ["Base", "Envelope", "Linux", "TOML", "Tracking"]),
        target("Systemd", ["CSystemd"]),
        target("Simulation", ["Base"]),
        target(
            "Doctor",
            [
                "Base", "ControlProtocol", "ControlTool", "DaemonConfiguration", "Envelope", "Linux",
                "Tracking", "Upload",
            ]),
        target(
            "Daemon",
            [
                "Base", "ControlProtocol", "DaemonConfiguration", "Envelope", "GPSD", "Linux", "Sensors",
                "Storage", "Systemd", "Tracking", "Upload",
            ]),

        executable("beekond", ["Daemon", "Linux"]),
        executable(
            "beekonctl", ["Base", "ControlProtocol", "ControlTool", "Doctor", "Linux", argumentParser]),
        executable("beekon-sim", ["Base", "Simulation", argumentParser]),

        test("DaemonConfiguration", ["Envelope", "Support"]),
        test("ControlProtocol", ["Support"]),
        test("ControlTool", ["Base", "ControlProtocol"]),
        test("Simulation", ["Base"]),
        test("Fleet", ["Base", "Simulation"]),
        test("Doctor", ["Base", "ControlProtocol", "ControlTool"]),
        test("Envelope", ["Base", "CZlib", "Support", "Tracking"]),
        test(
            "Upload", ["Base", "CCrypto", "DaemonConfiguration", "Envelope", "Linux", "Support", "Tracking"]),
        test(
            "Daemon",
            [
                "Base", "ControlProtocol", "DaemonConfiguration", "Envelope", "GPSD", "Linux", "SQLite",
                "Storage", "Support", "Tracking", "Upload",
            ]),

        .testTarget(
            name: "WorldTests",
            dependencies: [
                "Base", "CSQLite", "Daemon", "DaemonConfiguration", "Envelope", "GPSD", "Linux", "SQLite",
                "SimulatedDisk", "Storage", "Support", "Tracking", "Upload",
            ],
            exclude: ["README.md"], swiftSettings: settings),

        .target(name: "Support", path: "Tests/Support", swiftSettings: settings),
        test("Base", ["Support"]),
        test("Tracking", ["Base", "Simulation", "Support"]),
        test("Linux", ["Support"]),
        test("GPSD", ["Base", "Linux", "Support", "Tracking"]),
        test("Sensors", ["Base", "Linux", "Support", "Tracking"]),
        test("Storage", ["Base", "CSQLite", "Linux", "SQLite", "Support", "Tracking"], exclude: ["Schemas"]),

        .target(
            name: "SimulatedDisk", dependencies: ["CSQLite", "Linux", "Support"],
            path: "Tests/Simulation/Disk", swiftSettings: settings),
        test(
            "SimulatedDisk",
            ["Base", "CRecordingVFS", "CSQLite", "Linux", "SQLite", "Storage", "Support", "Tracking"]),

        .target(name: "CRecordingVFS", dependencies: ["CSQLite"], path: "Tests/CRecordingVFS"),
        .testTarget(
            name: "StorageFaultsTests",
            dependencies: [
                "Base", "CRecordingVFS", "Linux", "SQLite", "SimulatedDisk", "Storage", "Support", "Tracking",
            ],
            swiftSettings: settings),
        // No product, nor part of one: `make fleet-simulation` and `make fleet-live` run it.
        .target(
            name: "Fleet", dependencies: ["Base", "Envelope", "Simulation", "Tracking", "Upload"],
            path: "Tests/Tools/Fleet", swiftSettings: settings),
        .executableTarget(
            name: "beekon-fleet",
            dependencies: ["Base", "DaemonConfiguration", "Fleet", "Linux", "Upload", argumentParser],
            path: "Tests/Tools/beekon-fleet", swiftSettings: settings),
        // Not a product: the subject of Tests/System/storage/test_faults_store.py.
        .executableTarget(
            name: "store-exerciser", dependencies: ["Base", "SQLite", "Storage", "Tracking"],
            path: "Tests/Tools/store-exerciser", swiftSettings: settings),
        // Nor this: Tests/System/tracking/test_polygons.py compares what it says with Shapely.
        .executableTarget(
            name: "polygon-measurer", dependencies: ["Base", "Tracking"],
            path: "Tests/Tools/polygon-measurer", swiftSettings: settings),
        // Not a product either: `make bench` runs it.
        .executableTarget(
            name: "bench-store",
            dependencies: ["Base", "Envelope", "Linux", "SQLite", "Storage", "Tracking", "Upload"],
            path: "Tests/Benchmarks/bench-store", swiftSettings: settings),
    ] + fuzzing
)

// `etc/build/faults` sets this: it builds the simulated world once for each of a hundred changes, and nothing else.
if Context.environment["BEEKOND_WORLD"] != nil {
    let others = ["CRecordingVFS", "ControlTool", "Doctor", "Fleet", "Simulation"]
    package.dependencies = []
    package.products = []
    package.targets.removeAll { target in
        target.type == .executable || target.type == .test && target.name != "WorldTests"
            || others.contains(target.name)
    }
}
