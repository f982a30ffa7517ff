import ControlProtocol
import Testing

@Suite("calls")
struct CallTests {
    private func call(_ text: String) throws(ProtocolViolation) -> Call {
        try Call(decoding: Array(text.utf8))
    }

    @Test(
        "what is no call is refused",
        arguments: [
            "", " ", "null", "[]", "\"x\"", "42", "{", "{}", "{\"method\":7}", "{\"method\":null}",
            "{\"method\":\"a.B\"}{}", "{\"method\":\"a.B\",\"parameters\":[]}",
            "{\"method\":\"a.B\",\"parameters\":3}", "{\"method\":\"a.B\",\"oneway\":\"yes\"}",
            "{\"method\":\"a.B\",\"more\":1}", "{'method':'a.B'}",
        ])
    func malformed(text: String) {
        #expect(throws: ProtocolViolation.self) { try call(text) }
    }

    @Test("invalid UTF-8 is refused, wherever it occurs")
    func invalidUTF8() {
        for bad: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] {
            let frame = Array("{\"method\":\"a.B\",\"x\":\"".utf8) + bad + Array("\"}".utf8)
            #expect(throws: ProtocolViolation.notUTF8) { try Call(decoding: frame) }
        }
    }

    @Test("nesting is limited; brackets inside strings do not count")
    func depth() throws {
        func nested(_ levels: Int) -> String {
            // The call itself is one level.
            let inner = String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1)
            return "{\"method\":\"a.B\",\"x\":\(inner)}"
        }
        _ = try call(nested(Limits.depth))
        #expect(throws: ProtocolViolation.tooDeep) { try call(nested(Limits.depth + 1)) }
        #expect(throws: ProtocolViolation.tooDeep) { try call(nested(30_000)) }
        _ = try call("{\"method\":\"a.B\",\"x\":\"\\\"\(String(repeating: "[{", count: 100))\\\\\"}")
    }

    @Test("flags, interface and unknown members")
    func flags() throws {
        let plain = try call("{\"method\":\"org.example.One.Do\",\"parameters\":null,\"org.ext\":{\"a\":1}}")
        #expect(plain.interface == "org.example.One")
        #expect(!plain.more && !plain.oneway)
        let flagged = try call("{\"method\":\"Do\",\"more\":true,\"oneway\":true}")
        #expect(flagged.interface == "" && flagged.more && flagged.oneway)
    }

    @Test("only AddGeofences may be long")
    func long() throws {
        let fill = String(repeating: " ", count: Limits.request)
        _ = try call("{\(fill)\"method\":\"\(Wire.AddGeofences.name)\"}")
        #expect(throws: ProtocolViolation.tooLong(limit: Limits.request)) {
            try call("{\(fill)\"method\":\"org.beekond.Tracker.Stop\",\"x\":\"\(Wire.AddGeofences.name)\"}")
        }
    }

    @Test("calls survive a round trip, and the method comes first")
    func roundTrip() throws {
        let parameters = Wire.GetLocations.Parameters(from: "2026-06-15T12:34:10.000Z")
        let bytes = try Call.encode(Wire.GetLocations.self, parameters, more: true)
        #expect(bytes.last == 0)
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("{\"method\":\"org.beekond"))
        let call = try Call(decoding: bytes.dropLast())
        #expect(call.method == "org.beekond.Tracker.GetLocations")
        #expect(call.more && !call.oneway)
        #expect(try call.parameters(of: Wire.GetLocations.self) == parameters)
    }
}

@Suite("parameters are strict")
struct ParameterTests {
    private func culprit<M: ControlMethod>(_ method: M.Type, _ parameters: String) throws -> ControlError? {
        let text = "{\"method\":\"\(M.name)\",\"parameters\":\(parameters)}"
        let call = try Call(decoding: Array(text.utf8))
        do throws(ControlError) {
            _ = try call.parameters(of: method)
            return nil
        } catch {
            return error
        }
    }

    @Test("a misspelt `before` does not delete everything")
    func unknown() throws {
        #expect(
            try culprit(Wire.DeleteLocations.self, "{\"befor\":\"2026-01-01T00:00:00.000Z\"}")
                == .invalidParameter("befor"))
        #expect(try culprit(Wire.Stop.self, "{\"x\":1}") == .invalidParameter("x"))
        #expect(
            try culprit(Wire.Sync.self, "{\"wait\":true,\"Wait\":true}") == .invalidParameter("Wait"))
    }

    @Test("missing, mistyped and impossible values are reported with the parameter's name")
    func mistyped() throws {
        #expect(try culprit(Wire.RemoveGeofences.self, "{}") == .invalidParameter("ids"))
        #expect(try culprit(Wire.RemoveGeofences.self, "{\"ids\":null}") == .invalidParameter("ids"))
        #expect(try culprit(Wire.RemoveGeofences.self, "{\"ids\":[1]}") == .invalidParameter("ids"))
        #expect(try culprit(Wire.Sync.self, "{\"wait\":\"no\"}") == .invalidParameter("wait"))
        #expect(try culprit(Wire.Sync.self, "{\"wait\":1}") == .invalidParameter("wait"))
        #expect(try culprit(Wire.DeleteLocations.self, "{\"before\":0}") == .invalidParameter("before"))
        #expect(
            try culprit(Wire.SeedAuth.self, "{\"expires_at\":1.5}") == .invalidParameter("expires_at"))
        #expect(
            try culprit(Wire.SeedAuth.self, "{\"expires_at\":99999999999999999999}")
                == .invalidParameter("expires_at"))
        #expect(
            try culprit(Wire.GetCurrentLocation.self, "{\"timeout_seconds\":1e999}")
                == .invalidParameter("timeout_seconds"))
        #expect(
            try culprit(Wire.AddGeofences.self, "{\"geofences\":[{\"latitude\":1}]}")
                == .invalidParameter("geofences"))
        #expect(
            try culprit(Wire.GetCurrentLocation.self, "{\"timeout_seconds\":1,\"max_age_seconds\":1e999}")
                == .invalidParameter("max_age_seconds"))
        #expect(
            try culprit(Wire.SeedAuth.self, "{\"access_token\":\"a\",\"expires_at\":1.5}")
                == .invalidParameter("expires_at"))
        #expect(try culprit(Wire.SetExtras.self, "{\"extras\":{\"a\":1}}") == .invalidParameter("extras"))
    }

    @Test("optional parameters may be omitted or null, individually or all together")
    func absent() throws {
        #expect(try culprit(Wire.DeleteLocations.self, "{}") == nil)
        #expect(try culprit(Wire.DeleteLocations.self, "{\"before\":null}") == nil)
        let bare = try Call(decoding: Array("{\"method\":\"x.Y\"}".utf8))
        #expect(try bare.parameters(of: Wire.Sync.self) == Wire.Sync.Parameters())
        #expect(throws: ControlError.invalidParameter("ids")) {
            try bare.parameters(of: Wire.RemoveGeofences.self)
        }
    }

    @Test("values of any type reach Configure")
    func objects() throws {
        let text = """
            {"method":"x.Y","parameters":{"settings":{"tracking.interval_seconds":10,"sync.url":"https://a/",
            "tracking.autostart":true,"a":1.5,"b":null,"c":[1,{"d":"e"}],"e":9007199254740993}}}
            """
        let call = try Call(decoding: Array(text.utf8))
        let settings = try call.parameters(of: Wire.Configure.self).settings
        #expect(
            settings == [
                "tracking.interval_seconds": .integer(10), "sync.url": .string("https://a/"),
                "tracking.autostart": .bool(true), "a": .number(1.5), "b": .null,
                "c": .array([.integer(1), .object(["d": .string("e")])]),
                "e": .integer(9_007_199_254_740_993),
            ])
    }
}
