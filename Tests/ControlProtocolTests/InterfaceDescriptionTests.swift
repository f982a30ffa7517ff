import ControlProtocol
import FoundationEssentials
import Testing

@Suite("the interface definition")
struct InterfaceDescriptionTests {
    private static let all: [any ControlMethod.Type] = [
        Wire.GetStatus.self, Wire.GetMetrics.self, Wire.Start.self, Wire.Stop.self, Wire.Sync.self,
        Wire.Rebatch.self,
        Wire.GetPendingUploadCount.self,
        Wire.GetCurrentLocation.self, Wire.SetMotion.self, Wire.SetIgnition.self,
        Wire.GetLocations.self, Wire.GetSessions.self, Wire.GetTrips.self, Wire.SetOdometer.self,
        Wire.GetLocationCount.self,
        Wire.DeleteLocations.self, Wire.AddGeofences.self, Wire.RemoveGeofences.self,
        Wire.ListGeofences.self, Wire.GetGeofenceEvents.self, Wire.GetEvents.self, Wire.GetExtras.self,
        Wire.SetExtras.self,
        Wire.GetConfig.self, Wire.Configure.self, Wire.ResetConfig.self, Wire.ResetServerConfig.self,
        Wire.Reload.self,
        Wire.SeedAuth.self, Wire.GetRejected.self, Wire.RetryRejected.self, Wire.Resend.self,
        Wire.PurgeRejected.self, Wire.BackfillDestination.self, Wire.ForgetDestination.self,
        Wire.GetCommands.self,
        Wire.Subscribe.self,
    ]

    private static func names<M: ControlMethod>(_ method: M.Type) -> [String] { M.Parameters.names }

    @Test("the embedded text is the shipped file")
    func embedded() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/ControlProtocol/org.beekond.Tracker.varlink")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        #expect(InterfaceDescription.tracker.text == text)
    }

    @Test("every method is described, and every described method has its types")
    func methods() {
        let names = Self.all.map { String($0.name.dropFirst("org.beekond.Tracker.".count)) }
        #expect(names == InterfaceDescription.tracker.methods)
        #expect(InterfaceDescription.service.methods == ["GetInfo", "GetInterfaceDescription"])
    }

    @Test("the parameters of every method are those of the definition")
    func parameters() throws {
        for method in Self.all {
            let name = String(method.name.dropFirst("org.beekond.Tracker.".count))
            let line = try #require(Definition.lines.first { $0.hasPrefix("method \(name)(") })
            #expect(Self.names(method) == Definition.names(inParentheses: line), "\(name)")
        }
    }

    @Test("every error of the definition is one of ours")
    func errors() {
        let lines = (InterfaceDescription.tracker.text + InterfaceDescription.service.text)
            .split(separator: "\n").filter { $0.hasPrefix("error ") }
        #expect(lines.count == 15)
        for line in lines {
            let name = line.dropFirst("error ".count).prefix { $0 != " " }
            let known = ["org.beekond.Tracker.", "org.varlink.service."].contains { prefix in
                if case .other = ControlError(name: prefix + name, parameters: [:]) { return false }
                return true
            }
            #expect(known, "\(name)")
        }
    }

    @Test("descriptions are found by name")
    func named() {
        #expect(InterfaceDescription.named("org.beekond.Tracker")?.text.contains("# One position.") == true)
        #expect(InterfaceDescription.named("org.varlink.service")?.methods.count == 2)
        #expect(InterfaceDescription.named("org.beekond") == nil)
    }

    @Test(
        "what nobody handles is refused in the right words",
        arguments: [
            ("org.beekond.Tracker.Reload", ControlError.methodNotImplemented("org.beekond.Tracker.Reload")),
            ("org.beekond.Tracker.Fly", .methodNotFound("org.beekond.Tracker.Fly")),
            ("org.beekond.Tracker.", .methodNotFound("org.beekond.Tracker.")),
            ("org.varlink.service.Fly", .methodNotFound("org.varlink.service.Fly")),
            ("org.example.Fly", .interfaceNotFound("org.example")),
            ("Fly", .interfaceNotFound("")), ("", .interfaceNotFound("")),
        ])
    func refusal(method: String, expected: ControlError) throws {
        let call = try Call(decoding: Array("{\"method\":\"\(method)\"}".utf8))
        #expect(InterfaceDescription.refusal(of: call) == expected)
    }
}
