import Testing

@testable import EnvelopeReader

@Suite("orders of commands") struct CommandReaderTests {
    private func read(_ text: String) throws(Fault) -> CommandOrder {
        var result: Result<CommandOrder, Fault>?
        Array(text.utf8).withUnsafeBytes { bytes in
            result = Result { () throws(Fault) in try CommandReader.read(bytes) }
        }
        guard let result else { throw Fault(reason: "was not read") }
        return try result.get()
    }

    @Test("an order is read, and its arguments are kept as they stand") func whole() throws {
        let order = try read(
            #"{"command":"set_config","arguments":{ "tracking.interval_seconds": 5 },"expires_in":3600}"#)
        #expect(order.name == "set_config" && order.lifetime == 3600)
        #expect(order.arguments == Array(#"{ "tracking.interval_seconds": 5 }"#.utf8))
        #expect(try read(#"{"command":"start"}"#).arguments == Array("{}".utf8))
    }

    @Test(
        "what is none",
        arguments: [
            "", "[]", "{}", #"{"command":"destroy"}"#, #"{"command":"start","arguments":[]}"#,
            #"{"command":"start","expires_in":1}"#, #"{"command":"start","expires_in":1e9}"#,
            #"{"command":"start","x":1}"#, #"{"command":"start"}x"#, #"{"command":"start","command":"stop"}"#,
            #"{"command":"start","arguments":{"a":}}"#,
        ]) func none(text: String)
    {
        #expect(throws: Fault.self) { try read(text) }
    }
}
