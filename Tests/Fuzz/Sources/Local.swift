import Base
import ControlProtocol
import TOML
import Tracking

@testable import DaemonConfiguration
@testable import GPSD

extension Subject {
    /// Only the TOML of a configuration file, which is fast.
    static let toml = Subject(name: "toml") { input in
        guard let text = String(validating: input, as: UTF8.self) else { return }
        _ = TOMLReader.read(text)
        let copy = Seeds.removed(from: Array(input))
        precondition(Seeds.removed(from: copy) == copy)
    }

    /// A configuration file, from its bytes to the settings or the list of mistakes.
    static let configuration = Subject(name: "configuration") { input in
        guard let text = String(validating: input, as: UTF8.self) else { return }
        let file = ConfigurationFile(path: "/nowhere/beekond.toml", text: text, exposure: nil)
        var collector = Collector(
            file: file, home: "/nowhere", places: SecretPlaces(configurationRoots: ["/nowhere"]))
        collector.collect()
        var assembly = SettingsBuilder()
        assembly.add(collector)
        guard let loaded = try? assembly.finish() else { return }
        let settings = loaded.settings
        precondition(settings.tracking.intervalSeconds.isFinite && settings.tracking.intervalSeconds >= 0)
        precondition(settings.destinations.count <= Settings.Destination.limit)
        for destination in settings.allDestinations {
            precondition((1...1000).contains(destination.sync.batchSize) && !destination.sync.url.isEmpty)
            precondition(destination.sync.intervalSeconds >= (destination.sync.deliver == .latest ? 5 : 60))
        }
        precondition(Settings.complaint(aboutExtras: settings.extras) == nil)
    }

    /// Input from a client of the control socket, in pieces.
    static let varlink = Subject(name: "varlink") { input in
        var decoder = FrameDecoder.requests()
        let piece = max(1, Int(input.first ?? 1))
        var rest = input.dropFirst()
        while !rest.isEmpty {
            decoder.append([UInt8](rest.prefix(piece)))
            rest = rest.dropFirst(piece)
            do {
                while let frame = try decoder.next() { read(try Call(decoding: frame)) }
            } catch {
                // The connection would be closed.
                return
            }
        }
    }

    /// Decodes the parameters for the called method, and for one method of every other shape.
    private static func read(_ call: Call) {
        _ = InterfaceDescription.refusal(of: call)
        _ = try? call.parameters(of: Wire.GetLocations.self)
        _ = try? call.parameters(of: Wire.AddGeofences.self)
        _ = try? call.parameters(of: Wire.SetExtras.self)
        _ = try? call.parameters(of: Wire.Configure.self)
        _ = try? call.parameters(of: Wire.SeedAuth.self)
        _ = try? call.parameters(of: Wire.Subscribe.self)
    }

    /// Lines from gpsd, from bytes to fixes.
    static let gpsd = Subject(name: "gpsd") { input in
        guard var parser = ReportParser() else { return }
        var epochs = Epochs()
        var now = BootInstant(nanoseconds: 1_000_000_000_000)
        for line in input.split(separator: 0x0A) {
            var text = line.map { CChar(bitPattern: $0) } + [0]
            let report = text.withUnsafeMutableBufferPointer { buffer -> Report in
                guard let base = buffer.baseAddress else { return .other }
                return parser.parse(base)
            }
            guard case .tpv(let tpv) = report else { continue }
            precondition(tpv.bearing.map { (0..<360).contains($0) } ?? true)
            precondition(tpv.speed.map { $0 >= 0 && $0.isFinite } ?? true)
            precondition(tpv.latitude?.isFinite ?? true)
            now = now.advanced(bySeconds: 0.3)
            for epoch in epochs.add(tpv, now: now) + epochs.expire(now: now) { check(epoch) }
        }
        for epoch in epochs.flush() { check(epoch) }
    }

    private static func check(_ epoch: TPV) {
        guard let fix = epoch.fix else { return }
        precondition(abs(fix.coordinate.latitude) <= 90 && abs(fix.coordinate.longitude) <= 180)
    }
}
