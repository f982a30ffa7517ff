import API
import ArgumentParser
import Base
import Envelope
import HTTPTypes
import NIOCore

/// The verbs about devices, which may upload.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Add, list, edit, retire and delete devices.",
        subcommands: [Add.self, List.self, Edit.self, Retire.self, Delete.self])

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Add a device, and print the lines for its beekond.toml. The tokens are shown only once.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "Its name, 1 to 100 characters.")
        var name: String

        @Option(
            help: ArgumentHelp(
                "The server as the vehicle reaches it, such as https://fleet.example.org.", valueName: "url"))
        var url: String?

        @Flag(help: "Print the server's answer instead.")
        var json = false

        /// Before a device is made whose lines nobody gets.
        func validate() throws {
            guard json || url != nil else {
                throw ValidationError(
                    "say how the vehicle reaches this server: --url https://fleet.example.org, or --json for the tokens alone"
                )
            }
        }

        func run() async throws {
            var body = Array("{\"name\":".utf8)
            JSONString.append(name, to: &body)
            body += Array("}".utf8)
            let bytes = try await LocalClient(database: database.place).ask(
                .post, "/v1/devices", body: String(decoding: body, as: UTF8.self))
            guard !json, var base = url else { return print(String(buffer: bytes), terminator: "") }
            let device = try Answer.read(Answer.NewDevice.self, bytes)
            while base.hasSuffix("/") { base.removeLast() }
            print(
                VehicleConfiguration.text(
                    device: device.id, access: device.access, expires: Timestamp(iso8601: device.expires),
                    refresh: device.refresh, base: base))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the devices, and when each was last heard of.")

        @OptionGroup var database: DatabaseOption

        @Flag(help: "Print the server's answer instead.")
        var json = false

        func run() async throws {
            let bytes = try await LocalClient(database: database.place).ask(.get, "/v1/devices")
            if json { return print(String(buffer: bytes), terminator: "") }
            for device in try Answer.read(Answer.Devices.self, bytes).devices {
                let state =
                    device.revoked.map { "revoked \($0)" } ?? device.seen.map { "seen \($0)" } ?? "never seen"
                print("\(device.id)\t\(device.name)\t\(state)")
            }
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change what a device is called, and which group it is in. '' takes away.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "Its number, as 'device list' shows it.")
        var id: Int64

        @Option(help: "Its name, 1 to 100 characters.")
        var name: String?

        @Option(help: "Its number plate, at most 20 characters.")
        var plate: String?

        @Option(help: "A note, at most 500 characters.")
        var note: String?

        @Option(help: "The group that it is in.")
        var group: String?

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(
                .patch, "/v1/devices/\(id)",
                body: Body.object(["name": name, "plate": plate, "note": note, "group": group]))
        }
    }

    struct Retire: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the tokens of a device, for good. Its locations stay.", aliases: ["revoke"])

        @OptionGroup var database: DatabaseOption

        @Argument(help: "Its number, as 'device list' shows it.")
        var id: Int64

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(.delete, "/v1/devices/\(id)")
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Delete a device with all that it has sent. Its tokens end at once; its rows go bit by bit.")

        @OptionGroup var database: DatabaseOption

        @Argument(help: "Its number, as 'device list' shows it.")
        var id: Int64

        @Flag(help: "Delete it: nothing brings it back but a backup.")
        var yes = false

        func validate() throws {
            guard yes else {
                throw ValidationError(
                    "This deletes all that the device has sent, for good. Say --yes, or 'device retire' to keep it."
                )
            }
        }

        func run() async throws {
            _ = try await LocalClient(database: database.place).ask(.delete, "/v1/devices/\(id)/data")
        }
    }
}
