import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct StartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start tracking; it continues across restarts and power cuts until stopped.",
        discussion: """
            Says at once if no fix can come: gpsd cannot be reached, or has no receiver. It tracks all the same, as soon \
            as there is one.

            EXAMPLE:
              beekonctl start
            """)

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            let result = try client.call(Wire.Start.self, .init())
            try common.print(
                result, text: ["\(result.state.rawValue), session \(Text.safe(result.sessionId))"])
            if let obstacle = try? obstacle(&client) {
                CommonOptions.warn(
                    Text.safe("no fix can come yet: \(obstacle); it tracks as soon as one comes"))
            }
        }
    }

    /// Looks until gpsd has answered, or has not.
    private static let looks = 40
    /// Milliseconds between two of them.
    private static let pause: Int32 = 50

    /// Why no fix can come; nil when there is a receiver, or when that does not show within two seconds.
    private func obstacle(_ client: inout ControlClient) throws -> String? {
        for _ in 0..<Self.looks {
            switch try client.call(Wire.GetStatus.self, .init()).status.source.health {
            case .ok, .noFix, .unsettled, .stale: return nil
            case .noDevice: return "gpsd has no receiver; plug it in, or name it in /etc/default/gpsd"
            case .disconnected, .released: break
            }
            // The first attempt to connect may still be under way: a position that is wanted now shows whether it is.
            do {
                _ = try client.call(Wire.GetCurrentLocation.self, .init(timeoutSeconds: 0))
            } catch ControlError.locationUnavailable(let reason) {
                return reason + "; see gpsd.host and gpsd.port"
            }
            poll(nil, 0, Self.pause)
        }
        return nil
    }
}
