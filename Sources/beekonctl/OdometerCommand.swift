import ArgumentParser
import ControlProtocol
import ControlTool

struct OdometerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "odometer",
        abstract: "Show how far the vehicle has been driven, or set what its own odometer says.",
        discussion: """
            beekond counts from its installation on, whatever becomes of the locations. The total is as of the newest \
            location or stop, and goes back only when it is set.

            EXAMPLES:
              beekonctl odometer
              beekonctl odometer set 123456.7
            """,
        subcommands: [Show.self, Set.self], defaultSubcommand: Show.self)

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show how far the vehicle has been driven.",
            discussion: """
                EXAMPLE:
                  beekonctl odometer show --json | jq .odometer_meters
                """)

        @OptionGroup var common: CommonOptions

        func run() throws {
            try common.run {
                var client = try common.connect()
                try show(
                    odometer: try client.call(Wire.GetStatus.self, .init()).status.odometerMeters, common)
            }
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set what the vehicle's own odometer says.",
            discussion: """
                The change is recorded as an event. Requires root or group beekon-admin.

                EXAMPLE:
                  beekonctl odometer set 123456.7
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: "Kilometres, at most 10000000; three decimals count.")
        var kilometers: Double

        func validate() throws {
            guard (0...OdometerText.most).contains(kilometers) else {
                throw ValidationError("Give kilometres from 0 to 10000000, such as 123456.7.")
            }
        }

        func run() throws {
            try common.run {
                let metres = OdometerText.metres(kilometers)
                var client = try common.connect()
                _ = try client.call(
                    Wire.SetOdometer.self, .init(odometerMeters: metres), timeoutSeconds: 60)
                try show(odometer: metres, common)
            }
        }
    }
}

private func show(odometer metres: Int?, _ common: CommonOptions) throws {
    guard let metres else {
        throw Failure(
            "beekond does not know yet how far it was: its database cannot be read; beekonctl status says why",
            exitCode: 75)
    }
    try common.print(
        Wire.SetOdometer.Parameters(odometerMeters: metres),
        text: [OdometerText.line(metres, units: common.units())])
}
