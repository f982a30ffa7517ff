import ArgumentParser
import ControlProtocol
import ControlTool

struct IgnitionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ignition",
        abstract: "Set the state of the ignition, or show it.",
        discussion: """
            For vehicle.ignition = "manual": by hand, or from a udev rule, a UPS program or a CAN reader. It is stored \
            when the command returns; setting the same state twice changes nothing. After a reboot it is unknown until \
            it is set again.

            EXAMPLES:
              beekonctl ignition on
              beekonctl ignition show --json | jq -r .vehicle.ignition
            """)

    /// What can be said, or asked.
    enum Word: String, ExpressibleByArgument, CaseIterable { case on, off, show }

    @OptionGroup var common: CommonOptions

    @Argument(help: "on, off or show.")
    var word = Word.show

    func run() throws {
        try common.run {
            var client = try common.connect()
            if word != .show { _ = try client.call(Wire.SetIgnition.self, .init(on: word == .on)) }
            let vehicle = try client.call(Wire.GetStatus.self, .init()).status.vehicle
            try common.print(
                VehicleText.Shown(vehicle: vehicle),
                text: VehicleText.lines(vehicle, palette: CommonOptions.palette))
        }
    }
}
